;;; driver.el --- Remit in a real Emacs, with the configuration of the guide  -*- lexical-binding: t; -*-
;; Told by the environment: REMIT_GUIDE (the configuration), REMIT_FILE, REMIT_PROMPT, REMIT_CHOICE (the answer's title),
;; REMIT_UNTIL (a regular expression for the message that ends it), REMIT_IDLE (seconds until changes are told),
;; REMIT_REPORT (a JSON file to write).

(require 'json)
(load (getenv "REMIT_GUIDE") nil t)
(defvar driver-folder default-directory)
(setq native-comp-deferred-compilation nil message-log-max 10000 make-backup-files nil auto-save-default nil)
(when (getenv "REMIT_IDLE")
  (setq eglot-send-changes-idle-time (string-to-number (getenv "REMIT_IDLE"))))

(defvar driver-asked nil "The questions, newest first, each with what *Messages* held by then.")
(defvar driver-state 'open)
(defvar driver-buffer nil)

(defun driver-messages ()
  (with-current-buffer (messages-buffer) (buffer-substring-no-properties (point-min) (point-max))))

;; Nobody sits at this terminal: the answers are given here, everything else is the editor's own.
(setq completing-read-function
      (lambda (prompt &rest _)
        (push (list (cons 'prompt (substring-no-properties prompt)) (cons 'messages (driver-messages))) driver-asked)
        (getenv "REMIT_CHOICE")))

(defun driver-server ()
  (with-current-buffer driver-buffer (eglot-current-server)))

(defun driver-report (failure)
  (let ((text (with-current-buffer driver-buffer (buffer-substring-no-properties (point-min) (point-max)))))
    (with-temp-file (getenv "REMIT_REPORT")
      (insert (json-encode (list (cons 'asked (vconcat (reverse driver-asked)))
                                 (cons 'messages (driver-messages))
                                 (cons 'buffer text)
                                 (cons 'managed (with-current-buffer driver-buffer (and eglot--managed-mode t)))
                                 (cons 'modified (buffer-modified-p driver-buffer))
                                 (cons 'failure failure))))))
  (ignore-errors (eglot-shutdown (driver-server)))
  (kill-emacs 0))

(defun driver-step ()
  (condition-case problem
      (pcase driver-state
        ('open
         (setq driver-buffer (find-file "src/cart.py"))
         (call-interactively #'eglot)
         (setq driver-state 'connecting))
        ('connecting
         (when (driver-server)
           (setq driver-buffer (find-file (expand-file-name (getenv "REMIT_FILE") driver-folder)))
           (setq driver-state 'attaching)))
        ('attaching
         (when (driver-server)
           (with-current-buffer driver-buffer (remit-ask (getenv "REMIT_PROMPT")))
           (setq driver-state 'asked)))
        ('asked
         (when (string-match-p "it is not known whether" (driver-messages))
           ;; What an idle moment would do.
           (with-current-buffer driver-buffer (eglot--signal-textDocument/didChange)))
         (when (string-match-p (getenv "REMIT_UNTIL") (driver-messages))
           (setq driver-state 'ended)
           (driver-report nil))))
    (error (driver-report (error-message-string problem)))))

(run-with-timer 0.2 0.2 #'driver-step)
(run-with-timer 120 nil (lambda () (driver-report (format "nothing more came while `%s'" driver-state))))
