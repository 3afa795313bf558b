;;; remit-turn.el --- The running turn  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Sends a line, streams its turn into the chat, stops it, and reports when the server is lost (EMA-04).

;;; Code:

(require 'remit-review)

(defvar remit--turns (make-hash-table :test #'equal) "The chats of the running turns, by the token of their events.")

(defun remit--context (server)
  "Return the editor context of this buffer for SERVER: folder, file and cursor."
  (let ((root (remit--server-root server)) (file (and buffer-file-name (file-truename buffer-file-name))))
    (append (list :workspace_folder (directory-file-name root))
            (and file (string-prefix-p root file)
                 (list :open_document (file-relative-name file root) :cursor (remit--lsp-position (point)))))))

(defconst remit--beside "/background"
  "The command about the running turn, which is sent while that turn runs.")

(defun remit--ask-line (line &optional attachment)
  "Send LINE of the chat: a message, a `/command' or a `!command'.
ATTACHMENT is attached to a message."
  (let* ((server (remit--server)) (chat (remit--chat server)) (context (remit--context server))
         (place (remit--place server)))
    (with-current-buffer chat
      (when (and remit--running (not (equal (string-trim line) remit--beside)))
        (user-error "Remit is still working on the last request; M-x remit-stop ends it"))
      (remit--show-chat chat)
      (remit--begin line)
      (remit--execute
       server "remit.chat.read"
       (list (append (list :text line) (and remit--session (list :session_id remit--session)) place))
       (lambda (problem reply)
         (with-current-buffer chat
           (if problem (remit--say problem 'remit-problem)
             (remit--follow server reply context attachment))))))))

(defun remit--follow (server reply context attachment)
  "Do in this chat what REPLY of SERVER says.
If that is a turn, it gets CONTEXT and ATTACHMENT."
  (setq remit--session (plist-get reply :session_id))
  (when (remit--truth (plist-get reply :clears))
    (remit--clear)
    (remit--look-at-standing server))
  (when (remit--truth (plist-get reply :loads)) (remit--load server remit--session))
  (unless (string-empty-p (plist-get reply :text)) (remit--say (plist-get reply :text)))
  (let ((input (mapcar (lambda (part) (remit--input part attachment)) (plist-get reply :input))))
    (when input (remit--run server (vconcat input) (plist-get reply :model) context))))

(defun remit--input (part attachment)
  "Return PART of an input in the form that is sent.
ATTACHMENT is added to it unless it is a call."
  (pcase (plist-get part :type)
    ("call" (plist-put part :arguments (or (plist-get part :arguments) remit--nothing)))
    (_ (if attachment (plist-put part :attachments (vconcat (plist-get part :attachments) (list attachment))) part))))

(defun remit--run (server input model context)
  "Make SERVER run INPUT in this chat, with MODEL and CONTEXT."
  (let* ((chat (current-buffer))
         (turn (format "%.6f-%d" (float-time) (random 1000000)))
         (token (concat "remit-emacs-" turn)))
    (setq remit--running turn remit--intent nil)
    (puthash token chat remit--turns)
    (remit--request
     server :remit/run
     (append (list :session_id remit--session :turn_id turn :input input :context context :partialResultToken token)
             (and model (list :model model)))
     (lambda (problem result)
       (remhash token remit--turns)
       (when (buffer-live-p chat)
         (with-current-buffer chat
           (mapc #'remit--close-question remit--questions)
           (setq remit--running nil)
           (cond
            ((not (jsonrpc-running-p server))
             (remit--say "the server ended; your next request restarts it and continues the session" 'remit-problem))
            (problem (remit--say problem 'remit-problem))
            (t (remit--draw-end result)))
           (force-mode-line-update t)))))
    (force-mode-line-update t)))

(defun remit--take (token event)
  "Handle EVENT of the turn with TOKEN."
  (let ((chat (gethash token remit--turns)))
    (when (buffer-live-p chat)
      (with-current-buffer chat
        (remit--draw event)
        (pcase (plist-get event :kind)
          ("intent_selected" (unless (plist-get event :sub_agent) (setq remit--intent (plist-get event :intent))))
          ("state_changed" (remit--note-standing event))
          ("approval_required" (remit--open-question chat event))
          ("approval_resolved"
           (dolist (each remit--questions)
             (when (equal (plist-get event :approval_id) (plist-get (remit-question-event each) :approval_id))
               (remit--close-question each)))))
        (unless (equal (plist-get event :kind) "token_delta") (force-mode-line-update t))))))

(defun remit--note-standing (told)
  "Keep the workflow's mode and state in TOLD for the mode line."
  (let ((mode (plist-get told :mode)))
    (setq remit--standing
          (unless (member mode '(nil "explore")) (format " [%s: %s]" mode (plist-get told :state))))))

(defun remit--look-at-standing (server)
  "Ask SERVER for the mode and state of this chat's workflow."
  (let ((chat (current-buffer)))
    (setq remit--standing nil)
    (remit--request
     server :remit/status (list :session_id remit--session)
     (lambda (problem status)
       (when (and (not problem) (buffer-live-p chat))
         (with-current-buffer chat
           (remit--note-standing status)
           (force-mode-line-update t)))))))

(setq remit--take-event #'remit--take
      remit--ask-for #'remit--ask-line)

(defun remit--stop-turn (server chat turn)
  "Make SERVER stop TURN of CHAT.
The server cannot stop a turn that it has not begun yet, so the request is
repeated until the turn ends."
  (remit--execute
   server "remit.cancel" (list (list :session_id (buffer-local-value 'remit--session chat) :turn_id turn))
   (lambda (problem _)
     (if problem (message "Remit: %s" problem)
       (run-with-timer 0.5 nil
                       (lambda ()
                         (when (and (buffer-live-p chat) (equal turn (buffer-local-value 'remit--running chat)))
                           (remit--stop-turn server chat turn))))))))

(defun remit--load (server session)
  "Show SESSION, which SERVER stores, in this chat, and continue it."
  (let ((chat (current-buffer)))
    (remit--execute
     server "remit.session.load" (list (list :session session :workspace_folder (directory-file-name remit--root)))
     (lambda (problem found)
       (with-current-buffer chat
         (if problem (remit--say problem 'remit-problem)
           (setq remit--session session)
           (remit--clear)
           (remit--look-at-standing server)
           (mapc #'remit--replay (plist-get found :records))))))))

(provide 'remit-turn)
;;; remit-turn.el ends here
