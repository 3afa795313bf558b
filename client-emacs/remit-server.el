;;; remit-server.el --- Remit's language server in eglot  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A subclass of eglot's server class, so that these methods apply to Remit's server and to no other one (EMA-01).

;;; Code:

(require 'cl-lib)
(require 'eglot)
(require 'eieio)
(require 'subr-x)
(require 'url-util)
(require 'url-parse)

(defgroup remit nil
  "A coding agent that declares what it is about to do, and asks first."
  :group 'tools
  :prefix "remit-")

(defcustom remit-command '("remit" "serve")
  "The server's command line."
  :type '(repeat string))

(defcustom remit-trusted nil
  "Whether the folders that are opened here are trusted.
If this is nil, you are asked once for each folder that has its own
configuration, prompts or instructions."
  :type 'boolean)

(defcustom remit-modes
  '(python-mode python-ts-mode js-mode js-ts-mode typescript-mode typescript-ts-mode tsx-ts-mode css-mode css-ts-mode
    c-mode c-ts-mode c++-mode c++-ts-mode rust-mode rust-ts-mode go-mode go-ts-mode java-mode java-ts-mode ruby-mode
    ruby-ts-mode lua-mode lua-ts-mode sh-mode bash-ts-mode sql-mode emacs-lisp-mode html-mode mhtml-mode nxml-mode
    makefile-mode makefile-gmake-mode dockerfile-mode dockerfile-ts-mode conf-mode conf-unix-mode conf-toml-mode
    toml-ts-mode yaml-mode yaml-ts-mode json-mode json-ts-mode markdown-mode text-mode fundamental-mode)
  "Major modes whose files Remit's server manages.
The mode in which you start Remit is always included."
  :type '(repeat symbol))

(defclass remit-server (eglot-lsp-server)
  ((root :initform nil :accessor remit--server-root :documentation "The workspace folder, with a slash at its end."))
  :documentation "A `remit serve' that eglot runs.")

(defvar remit--servers nil "The servers that have answered, newest first.")
(defvar remit--take-event #'ignore "Called with the token and the value of each event of a turn.")
(defvar remit--ask-for #'ignore "Called with the text of a code action that sends a message.")

(defconst remit--nothing (make-hash-table :size 1) "The empty JSON object.")

(cl-defmethod initialize-instance :after ((server remit-server) &rest _)
  "Set the root of SERVER, which eglot creates in the project's folder."
  (setf (remit--server-root server) (file-name-as-directory (file-truename default-directory))))

(cl-defmethod eglot-initialization-options ((_server remit-server))
  "Tell the server that this client shows questions, and which commands it has."
  (list :remit (append '(:approvals "stream" :client_commands ["remit.client.ask" "remit.client.rename"])
                       (and remit-trusted '(:trusted t)))))

(cl-defmethod eglot-client-capabilities ((_server remit-server))
  "Add to eglot's capabilities that this client shows documents."
  (append (cl-call-next-method) '(:window (:showDocument (:support t)))))

(cl-defmethod eglot-handle-request ((_server remit-server) (_method (eql window/showDocument))
                                    &key uri external selection &allow-other-keys)
  "Show the file of URI at SELECTION, unless it is EXTERNAL or not a file."
  (if (or (eq external t) (not (string-prefix-p "file:" uri)))
      '(:success :json-false)
    (pop-to-buffer (find-file-noselect (remit--path uri)))
    (when selection
      (goto-char (point-min))
      (forward-line (plist-get (plist-get selection :start) :line)))
    '(:success t)))

(cl-defmethod eglot-handle-request :around ((_server remit-server) (_method (eql workspace/applyEdit))
                                            &key &allow-other-keys)
  "Make the edit without a question, and report its changes to the server at once.
The person has already seen and allowed the edit.  Eglot would report the
changes only when Emacs is next idle, which may be after another key."
  (let ((eglot-confirm-server-initiated-edits nil))
    (prog1 (cl-call-next-method)
      (remit--tell-changes))))

(declare-function eglot--signal-textDocument/didChange "eglot" ())

(defun remit--tell-changes ()
  "Report to the servers all changes that eglot has not reported yet."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (eglot-managed-p) (eglot--signal-textDocument/didChange)))))

(cl-defmethod eglot-handle-notification ((_server remit-server) (_method (eql $/progress)) &key token value)
  "Handle VALUE, an event of the turn with TOKEN."
  (when (and (stringp token) (string-prefix-p "remit-emacs-" token))
    (funcall remit--take-event token value)))

(cl-defmethod eglot-execute-command ((server remit-server) command arguments)
  "Run COMMAND with ARGUMENTS: here if it is of this client, else on SERVER."
  (let ((about (and (> (length arguments) 0) (elt arguments 0))))
    (pcase command
      ('remit.client.ask (funcall remit--ask-for (plist-get about :text)))
      ('remit.client.rename
       (let ((name (read-string (format "Rename %s to: " (plist-get about :name)))))
         (funcall remit--ask-for
                  (format "rename %s to %s in %s" (plist-get about :name) name (plist-get about :path)))))
      (_ (remit--execute server (format "%s" command) (append arguments nil) #'ignore)))))

(defun remit--connected (server)
  "Add SERVER to the servers that have answered, if it is Remit's."
  (when (cl-typep server 'remit-server) (push server remit--servers)))

(add-hook 'eglot-connect-hook #'remit--connected)

(defun remit--find-server (&optional folder)
  "Return the running server of the innermost workspace around FOLDER.
If FOLDER is nil, it is the folder of the current buffer."
  (setq remit--servers (cl-remove-if-not #'jsonrpc-running-p remit--servers))
  (let* ((here (file-name-as-directory (file-truename (or folder default-directory))))
         (around (cl-remove-if-not (lambda (each) (string-prefix-p (remit--server-root each) here)) remit--servers)))
    (car (sort around (lambda (one other)
                        (> (length (remit--server-root one)) (length (remit--server-root other))))))))

(defun remit--modes-here ()
  "Return the modes for a server started here.
These are this buffer's mode, and `remit-modes' without the modes that
another server manages."
  (let (taken)
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer
        (when (and (eglot-managed-p) (not (cl-typep (eglot-current-server) 'remit-server)))
          (cl-pushnew major-mode taken))))
    (cons major-mode
          (cl-remove-if (lambda (each) (or (not (fboundp each)) (memq each taken) (eq each major-mode))) remit-modes))))

;;;###autoload
(defun remit-start ()
  "Start Remit for the project of this file, or say what is missing (EMA-05)."
  (interactive)
  (unless (executable-find (car remit-command))
    (user-error "There is no program `%s': install Remit, or name it in `remit-command'" (car remit-command)))
  (with-current-buffer (or (remit--file-buffer) (user-error "Open a file of a project first"))
    (let ((running (remit--find-server)) (other (eglot-current-server)))
      (cond
       (running (message "Remit runs here") running)
       (t (when other (remit--take-place other))
          (remit--connect)
          (or (remit--find-server) (user-error "Remit did not answer: M-x eglot-stderr-buffer says more")))))))

(defun remit--file-buffer ()
  "Return this buffer if it has a file.
In a chat, return the buffer of a file of its project."
  (cl-find-if (lambda (each)
                (let ((file (buffer-file-name each)))
                  (and file (or (eq each (current-buffer))
                                (and (bound-and-true-p remit--root)
                                     (string-prefix-p remit--root (file-truename file)))))))
              (cons (current-buffer) (buffer-list))))

(defun remit--take-place (other)
  "End OTHER, the server of this buffer, if the person agrees."
  (unless (y-or-n-p (format "%s serves this buffer, and eglot allows one server per buffer. Replace it with Remit? "
                            (jsonrpc-name other)))
    (user-error "Remit was not started"))
  (eglot-shutdown other))

(defun remit--too-much-p (folder)
  "Return whether FOLDER contains the home folder, or is a whole disk."
  (let ((home (file-name-as-directory (file-truename "~"))))
    (or (string-prefix-p folder home)
        (equal folder (file-name-directory (directory-file-name folder))))))

(defun remit--started-in (folder)
  "Return the folder Emacs was started in as a project, if it contains FOLDER."
  (let ((start (file-name-as-directory (file-truename (or command-line-default-directory folder)))))
    (and (string-prefix-p start (file-truename folder))
         (not (remit--too-much-p start))
         (cons 'transient start))))

(defun remit--served-project (folder)
  "Return the project of the server for FOLDER, but only when eglot asks."
  (when (and remit--servers (bound-and-true-p eglot-lsp-context))
    (when-let ((server (remit--find-server folder)))
      (eglot--project server))))

(add-hook 'project-find-functions #'remit--served-project 90)

(defun remit--connect ()
  "Make eglot start the server for this buffer's project, and wait for it."
  (let ((project-find-functions (append project-find-functions (list #'remit--started-in)))
        (eglot-server-programs (list (cons (remit--modes-here) (cons 'remit-server remit-command))))
        (eglot-sync-connect t)
        (eglot-autoreconnect nil)        ; the next request restarts a server that ended
        (eglot-events-buffer-size 0)     ; eglot would log each event of a turn there
        (current-prefix-arg nil))
    (when (remit--too-much-p (file-name-as-directory (file-truename (project-root (eglot--current-project)))))
      (user-error "Remit does not work in a whole home folder or disk: open a file in a project's folder"))
    (call-interactively #'eglot)))

(defun remit--server ()
  "Return the server of this buffer's project, and start it if none runs."
  (or (remit--find-server) (remit-start)))

(defun remit--request (server method params done)
  "Send SERVER a request of METHOD with PARAMS.
DONE is called with a problem as text, or nil, and the result."
  (remit--tell-changes)
  (jsonrpc-async-request server method params
                         :timeout nil
                         :success-fn (lambda (result) (funcall done nil result))
                         :error-fn (lambda (problem) (funcall done (remit--problem problem) nil))))

(defun remit--execute (server command arguments done)
  "Make SERVER run COMMAND with the list ARGUMENTS.
DONE is as in `remit--request'."
  (remit--request server :workspace/executeCommand (list :command command :arguments (vconcat arguments)) done))

(defun remit--problem (problem)
  "Return PROBLEM, an error of JSON-RPC or of a result, as text."
  (let ((data (or (plist-get problem :data) problem)))
    (if (plist-get data :what)
        (format "%s: %s (%s)" (plist-get data :what) (plist-get data :why) (plist-get data :fix))
      (plist-get problem :message))))

(defun remit--place (server)
  "Return the place for a command: this file, or else the folder of SERVER."
  (if (and buffer-file-name (eq (remit--find-server) server))
      (list :uri (remit--uri buffer-file-name))
    (list :workspace_folder (directory-file-name (remit--server-root server)))))

(defun remit--uri (file)
  "Return the URI of FILE."
  (concat "file://" (url-hexify-string (encode-coding-string (file-truename file) 'utf-8) url-path-allowed-chars)))

(defun remit--path (uri)
  "Return the file of URI."
  (decode-coding-string (url-unhex-string (url-filename (url-generic-parse-url uri))) 'utf-8))

(defun remit--units (position)
  "Return the UTF-16 code units from the beginning of the line to POSITION."
  (save-excursion
    (goto-char position)
    (/ (length (encode-coding-string (buffer-substring-no-properties (line-beginning-position) position) 'utf-16le))
       2)))

(defun remit--lsp-position (position)
  "Return POSITION as a position of LSP."
  (save-restriction
    (widen)
    (list :line (1- (line-number-at-pos position t)) :character (remit--units position))))

(provide 'remit-server)
;;; remit-server.el ends here
