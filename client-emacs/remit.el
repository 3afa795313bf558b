;;; remit.el --- An agent that asks before it acts  -*- lexical-binding: t; -*-

;; Author: The Remit authors
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1") (eglot "1.9"))
;; Keywords: tools, convenience
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Remit reads, edits and runs things in your project with a model on your machine.  It says what it is about to do before
;; it does it, and asks you before it writes or runs anything.
;;
;; `M-x remit-ask' in a file of a project starts it and asks.  A question has a buffer of its own: `M-x remit-review' goes
;; there, and its keys answer.  Nothing is loaded before the first use, and no global key is bound (EMA-01).

;;; Code:

(require 'remit-turn)
(require 'flymake)

(defun remit--complete (server)
  "Return the completions of SERVER for the line in the minibuffer (EMA-03)."
  (let* ((start (minibuffer-prompt-end))
         (text (buffer-substring-no-properties start (point)))
         (found (condition-case problem
                    (jsonrpc-request server :workspace/executeCommand
                                     (list :command "remit.chat.complete"
                                           :arguments (vector (append (list :text text) (remit--place server))))
                                     :timeout 10)
                  (jsonrpc-error (minibuffer-message "Remit has no proposal: %s" (error-message-string problem)) nil))))
    (when (> (length found) 0)
      (list (+ start (remit--index text (plist-get (elt found 0) :start))) (point)
            (mapcar (lambda (each) (plist-get each :text)) found)
            :exclusive 'no))))

(defun remit--index (text units)
  "Return how many characters of TEXT are UNITS code units of UTF-16."
  (let ((at 0))
    (while (and (< at (length text)) (> units 0))
      (setq units (- units (if (> (aref text at) #xffff) 2 1)) at (1+ at)))
    at))

(defun remit--read-line (prompt)
  "Read a line of the chat after PROMPT; TAB completes it."
  (let ((server (remit--server)) (keys (make-sparse-keymap)))
    (set-keymap-parent keys minibuffer-local-map)
    (define-key keys (kbd "TAB") #'completion-at-point)
    (let ((line (minibuffer-with-setup-hook
                    (lambda ()
                      (add-hook 'completion-at-point-functions (lambda () (remit--complete server)) nil t))
                  (read-from-minibuffer prompt nil keys))))
      (if (string-empty-p (string-trim line)) (user-error "You entered no text") line))))

;;;###autoload
(defun remit-ask (line)
  "Send LINE: a message, a `/command' or a `!command' of the chat.
TAB completes commands, and files after `@'."
  (interactive (list (remit--read-line "Remit: ")))
  (remit--ask-line line))

;;;###autoload
(defun remit-edit (line start end)
  "Send LINE as a request about the text from START to END."
  (interactive (progn (unless (use-region-p) (user-error "Select the text to edit first"))
                      (list (remit--read-line "Edit: ") (region-beginning) (region-end))))
  (let* ((server (remit--server)) (root (remit--server-root server)) (file (and buffer-file-name
                                                                                (file-truename buffer-file-name))))
    (unless (and file (string-prefix-p root file)) (user-error "This file is not in the project %s" root))
    (let ((first (line-number-at-pos start t))
          (last (line-number-at-pos (max start (1- end)) t))
          (path (file-relative-name file root)))
      (remit--ask-line (format "%s (lines %d-%d of %s)" line first last path)
                       (list :type "selection" :path path
                             :range (list :start (remit--lsp-position start) :end (remit--lsp-position end))
                             :text (buffer-substring-no-properties start end))))))

(defun remit--ask-task (kind)
  "Run the code action of KIND that the server offers.
It is about the name at point, or about the region."
  (unless buffer-file-name (user-error "This buffer has no file"))
  (let* ((server (remit--server))
         (start (if (use-region-p) (region-beginning) (point)))
         (end (if (use-region-p) (region-end) (point)))
         (lines (save-excursion (cons (progn (goto-char start) (line-beginning-position))
                                      (progn (goto-char end) (line-end-position))))))
    (remit--request
     server :textDocument/codeAction
     (list :textDocument (list :uri (remit--uri buffer-file-name))
           :range (list :start (remit--lsp-position start) :end (remit--lsp-position end))
           :context (list :only (vector kind)
                          :diagnostics (vconcat (mapcar #'remit--diagnostic
                                                        (flymake-diagnostics (car lines) (1+ (cdr lines)))))))
     (lambda (problem found)
       (cond
        (problem (message "Remit: %s" problem))
        ((= 0 (length found)) (message "Nothing to do here, or the model cannot do it"))
        (t (let ((command (plist-get (elt found 0) :command)))
             (eglot-execute-command server (intern (plist-get command :command)) (plist-get command :arguments)))))))))

(defun remit--diagnostic (shown)
  "Return SHOWN, a diagnostic of Flymake, in the form of LSP."
  (list :range (list :start (remit--lsp-position (flymake-diagnostic-beg shown))
                     :end (remit--lsp-position (flymake-diagnostic-end shown)))
        :message (flymake-diagnostic-text shown)))

;;;###autoload
(defun remit-fix ()
  "Fix what Flymake shows at point, or in the lines of the region."
  (interactive)
  (remit--ask-task "quickfix.remit"))

;;;###autoload
(defun remit-explain ()
  "Explain the name at point, or the lines of the region."
  (interactive)
  (remit--ask-task "refactor.remit.explain"))

;;;###autoload
(defun remit-refactor ()
  "Make the name at point, or the lines of the region, simpler."
  (interactive)
  (remit--ask-task "refactor.rewrite.remit.refactor"))

;;;###autoload
(defun remit-document ()
  "Write the documentation of the name at point, or of the lines of the region."
  (interactive)
  (remit--ask-task "refactor.rewrite.remit.document"))

;;;###autoload
(defun remit-tests ()
  "Write tests for the name at point, or for the lines of the region."
  (interactive)
  (remit--ask-task "refactor.remit.tests"))

(defun remit--here ()
  "Return the server and the chat of this project.
Signal an error if no server runs."
  (let ((server (or (remit--find-server) (user-error "Remit is not running in this project; M-x remit-start starts it"))))
    (cons server (remit--chat server))))

;;;###autoload
(defun remit-stop ()
  "Stop the turn that Remit runs in this project."
  (interactive)
  (pcase-let* ((`(,server . ,chat) (remit--here))
               (turn (buffer-local-value 'remit--running chat)))
    (unless turn (user-error "Remit is not running anything"))
    (remit--stop-turn server chat turn)))

;;;###autoload
(defun remit-review ()
  "Go to the first waiting question."
  (interactive)
  (let ((questions (buffer-local-value 'remit--questions (cdr (remit--here)))))
    (unless questions (user-error "Remit is not asking anything"))
    (pop-to-buffer (remit-question-buffer (car questions)))
    (when (cdr questions) (message "%d questions are waiting; this is the first" (length questions)))))

;;;###autoload
(defun remit-yes ()
  "Answer yes to the model's question what you meant."
  (interactive)
  (unless (buffer-local-value 'remit--suggestion (cdr (remit--here)))
    (user-error "The model asks nothing that a yes answers"))
  (remit--ask-line "yes"))

;;;###autoload
(defun remit-chat ()
  "Go to the chat of this project."
  (interactive)
  (remit--server)
  (pop-to-buffer (cdr (remit--here))))

;;;###autoload
(defun remit-sessions ()
  "Choose a stored session, and continue it."
  (interactive)
  (let* ((server (remit--server)) (chat (remit--chat server)))
    (remit--execute
     server "remit.session.list" (list (remit--place server))
     (lambda (problem found)
       (cond
        (problem (message "Remit: %s" problem))
        ((= 0 (length found)) (message "This folder has no sessions yet"))
        ;; Use a timer, because waiting for the person here would block a process filter.
        (t (run-with-timer 0 nil #'remit--choose-session server chat (append found nil))))))))

(defun remit--choose-session (server chat found)
  "Let the person choose a session from FOUND, and continue it in CHAT.
SERVER loads it."
  (let* ((titles (mapcar (lambda (each)
                           (cons (format "%s  %s  %d turns"
                                         (string-replace "T" " " (substring (plist-get each :last_used) 0 16))
                                         (or (plist-get each :name) (plist-get each :title)) (plist-get each :turns))
                                 (plist-get each :session_id)))
                         found))
         (chosen (completing-read "Session: " titles nil t)))
    (pop-to-buffer chat)
    (remit--load server (cdr (assoc chosen titles)))))

;;;###autoload
(defun remit-model ()
  "Choose one of the models that were found, or name one, and keep it."
  (interactive)
  (let ((server (remit--server)))
    (remit--execute
     server "remit.model.list" (list (remit--place server))
     (lambda (problem found)
       (if problem (message "Remit: %s" problem)
         ;; Use a timer, because waiting for the person here would block a process filter.
         (run-with-timer 0 nil #'remit--choose-model server (append found nil)))))))

(defun remit--choose-model (server found)
  "Let the person choose a model from FOUND or name one, and make SERVER use it."
  (let* ((about (mapcar (lambda (each)
                          (cons (plist-get each :reference)
                                (concat "  " (or (plist-get each :problem) (plist-get each :about))
                                        (and (plist-get each :sent_to) (concat ", sent to " (plist-get each :sent_to))))))
                        found))
         (completion-extra-properties
          (list :annotation-function (lambda (reference) (cdr (assoc reference about)))))
         (reference (completing-read "Model: " about)))
    (unless (string-empty-p reference)
      (message "Trying one step with %s …" reference)
      (remit--execute
       server "remit.model.use" (list (append (list :reference reference) (remit--place server)))
       (lambda (problem found)
         (message "Remit: %s" (or problem
                                  (concat (plist-get found :said)
                                          (when-let ((why (plist-get found :problem)))
                                            (concat "\n" (plist-get why :fix)))))))))))

;;;###autoload
(defun remit-undo ()
  "Undo the changes of the last turn, except where they were changed since then."
  (interactive)
  (remit--ask-line "/undo"))

;;;###autoload
(defun remit-redo ()
  "Redo what the last undo took back."
  (interactive)
  (remit--ask-line "/redo"))

;;;###autoload
(defun remit-verify ()
  "Verify the audit log of this project."
  (interactive)
  (let ((server (remit--server)))
    (remit--execute server "remit.audit.verify" (list (remit--place server))
                    (lambda (problem found) (message "Remit: %s" (or problem (plist-get found :message)))))))

(defun remit-word ()
  "Return the text for the mode line, which is empty if Remit does not run."
  (let ((chat (cond (remit--root (current-buffer))
                    ((and remit--servers (eglot-managed-p) (cl-typep (eglot-current-server) 'remit-server))
                     (remit--chat (eglot-current-server))))))
    (if (not chat) ""
      (concat
       (cond
        ((buffer-local-value 'remit--questions chat) " Remit: asks")
        ((buffer-local-value 'remit--running chat)
         (format " Remit: %s" (or (buffer-local-value 'remit--intent chat) "running")))
        (t " Remit"))
       (buffer-local-value 'remit--standing chat)))))

(add-to-list 'mode-line-misc-info '(:eval (remit-word)) t)

(provide 'remit)
;;; remit.el ends here
