;;; remit-review.el --- Questions that wait for an answer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A question has a buffer of its own, where keys answer it, and is drawn in the files that it would change (EMA-02).

;;; Code:

(require 'diff-mode)
(require 'remit-chat)
(require 'remit-parts)

(cl-defstruct remit-question
  "A question: its EVENT, its CHAT, and the parts that are LEFT-OUT so far.
Its BUFFER shows its details if it is DETAILED.  Its OVERLAYS are in files."
  event chat left-out buffer overlays detailed)

(defvar-local remit--question nil "The question that this buffer shows.")
(defvar-local remit--marks nil "The overlays on the parts that are left out.")

(defvar remit-review-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "y" #'remit-allow)
    (define-key map "s" #'remit-allow-for-session)
    (define-key map "f" #'remit-allow-edits)
    (define-key map "a" #'remit-allow-always)
    (define-key map "e" #'remit-allow-everywhere)
    (define-key map "n" #'remit-deny)
    (define-key map "N" #'remit-deny-with-words)
    (define-key map "x" #'remit-leave-out)
    (define-key map "c" #'remit-comment)
    (define-key map "?" #'remit-details)
    (define-key map (kbd "M-n") #'diff-hunk-next)
    (define-key map (kbd "M-p") #'diff-hunk-prev)
    (define-key map (kbd "SPC") #'scroll-up-command)
    (define-key map (kbd "S-SPC") #'scroll-down-command)
    (define-key map (kbd "DEL") #'scroll-down-command)
    (define-key map "q" #'quit-window)
    map)
  "Keymap of a question.")

(define-derived-mode remit-review-mode diff-mode "Remit asks"
  "A question, with exactly what would happen if you allow it.

\\{remit-review-mode-map}"
  ;; Diff mode's own keys for read-only buffers would replace these, and truncated lines would hide part of the question.
  (setq minor-mode-overriding-map-alist nil)
  (setq-local truncate-lines nil)
  (setq-local truncate-partial-width-windows nil)
  (setq-local bidi-paragraph-direction 'left-to-right)
  (setq buffer-read-only t)
  (buffer-disable-undo))

;; the buffer

(defun remit--open-question (chat event)
  "Add EVENT, a question, to CHAT and show it; the cursor stays where it is."
  (let ((question (make-remit-question :event event :chat chat)))
    (with-current-buffer chat (setq remit--questions (append remit--questions (list question))))
    (setf (remit-question-buffer question) (remit--question-buffer question))
    (remit--draw-in-files question)
    (display-buffer (remit-question-buffer question)
                    '((display-buffer-pop-up-window display-buffer-use-some-window) (inhibit-same-window . t)))
    (message "Remit asks: %s (%s goes there)" (plist-get event :title)
             (with-current-buffer (window-buffer (selected-window)) (substitute-command-keys "\\[remit-review]")))))

(defun remit--close-question (question)
  "Remove QUESTION and everything that was drawn for it."
  (mapc #'delete-overlay (remit-question-overlays question))
  (with-current-buffer (remit-question-chat question)
    (setq remit--questions (delq question remit--questions)))
  (let ((buffer (remit-question-buffer question)))
    (when (buffer-live-p buffer)
      (dolist (window (get-buffer-window-list buffer nil t)) (quit-window nil window))
      (kill-buffer buffer))))

(defun remit--question-buffer (question)
  "Return a new buffer that shows QUESTION."
  (let ((event (remit-question-event question)))
    (with-current-buffer (generate-new-buffer (format "*Remit asks: %s*" (plist-get event :title)))
      (remit--insert-question event)
      (goto-char (point-min))
      (remit-review-mode)
      (setq remit--question question)
      (current-buffer))))

(defun remit--insert-question (event)
  "Insert the question in EVENT: why, what exactly would happen, and the keys."
  (cl-flet ((line (format &rest given) (insert (apply #'format format given) "\n")))
    (line "Remit asks: %s (%s risk%s)" (plist-get event :title) (plist-get event :risk)
          (if (> (or (plist-get event :step_calls) 1) 1)
              (format ", call %d of %d" (plist-get event :step_call) (plist-get event :step_calls))
            ""))
    (when (plist-get event :session_name) (line "  in the session %s" (plist-get event :session_name)))
    (when (plist-get event :asked_by) (line "  asked by a sub-agent: %s" (plist-get event :asked_by)))
    (seq-doseq (reason (plist-get event :reasons))
      (line "  %s" (plist-get reason :reason)))
    (let ((command (or (plist-get event :command)
                       (and (plist-get event :argv) (string-join (append (plist-get event :argv) nil) " ")))))
      (when command (line "  $ %s" (string-replace "\n" "\n    " command))))
    (when (plist-get event :cwd) (line "  in %s" (plist-get event :cwd)))
    (cond
     ((> (length (plist-get event :hosts)) 0)
      (line "  in the sandbox, with network to %s" (string-join (append (plist-get event :hosts) nil) ", ")))
     ((plist-get event :argv) (line "  in the sandbox, no network")))
    (when (plist-get event :near) (line "  reaches the process in the background: %s" (plist-get event :near)))
    (seq-doseq (diff (plist-get event :diffs)) (remit--insert-diff diff))
    (when (plist-get event :session_rule) (line "  s  this session: allow %s" (plist-get event :session_rule)))
    (line "  %sy allow once   s this session   f all edits this session   ? more\n  n no   N no, with a comment"
          (if (remit--truth (plist-get event :by_hunk))
              "M-n M-p hunks   x leave one out, or put it back   c with a comment\n  "
            ""))))

(defun remit--insert-details (event)
  "Insert which rules ask in EVENT, and the rule of each further answer (APP-04)."
  (cl-flet ((line (format &rest given) (insert (apply #'format format given) "\n")))
    (seq-doseq (reason (plist-get event :reasons))
      (line "  asked by rule %s: %s" (or (plist-get reason :rule) (plist-get reason :layer)) (plist-get reason :reason)))
    (dolist (each '((:edits_rule . "f  this session: allow")
                    (:always_rule . "a  always here: adds to permissions.yaml:")
                    (:everywhere_rule . "e  always everywhere: adds this rule:")))
      (when (plist-get event (car each)) (line "  %s %s" (cdr each) (plist-get event (car each)))))))

(defun remit--insert-diff (diff)
  "Insert DIFF, with each part of it in the text property `remit-part'."
  (let ((path (plist-get diff :path)) (start (point)) (whole (= 0 (plist-get diff :hunks))))
    (insert (format "%s%s\n" path (cond ((remit--truth (plist-get diff :created)) " (new)")
                                        ((remit--truth (plist-get diff :deleted)) " (deleted)")
                                        ((plist-get diff :moved_from) (format " (was %s)" (plist-get diff :moved_from)))
                                        (t ""))))
    (put-text-property start (point) 'remit-part (and whole (remit--part path nil)))
    (let ((first (point)))
      (insert (string-trim-right (plist-get diff :diff) "\n") "\n")
      (if whole
          (put-text-property first (point) 'remit-part (remit--part path nil))
        (dolist (hunk (remit--hunks (plist-get diff :diff)))
          (save-excursion
            (goto-char first)
            (forward-line (remit-hunk-at hunk))
            (put-text-property (point) (point-max) 'remit-part (remit--part path (remit-hunk-number hunk)))))))
    (insert (propertize "\n" 'remit-part nil))))

;; the files

(defun remit--draw-in-files (question)
  "Draw QUESTION in the buffers of the files that it would change."
  (mapc #'delete-overlay (remit-question-overlays question))
  (setf (remit-question-overlays question) nil)
  (let ((root (buffer-local-value 'remit--root (remit-question-chat question))))
    (seq-doseq (diff (plist-get (remit-question-event question) :diffs))
      (let ((buffer (find-buffer-visiting (expand-file-name (plist-get diff :path) root)))
            (hunks (remit--hunks (plist-get diff :diff))))
        (when buffer
          (with-current-buffer buffer
            (dolist (hunk hunks) (remit--draw-hunk question diff hunk (length hunks)))))))))

(defun remit--draw-hunk (question diff hunk total)
  "Draw HUNK, one of TOTAL of DIFF in QUESTION, in this buffer."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (forward-line (remit-hunk-line hunk))
      (let* ((start (point))
             (end (progn (forward-line (remit-hunk-count hunk)) (point)))
             (overlay (make-overlay start end))
             (part (remit--part (plist-get diff :path) (remit-hunk-number hunk)))
             (left (assoc part (remit-question-left-out question)))
             (title (format "hunk %d of %d%s\n" (1+ (remit-hunk-number hunk)) total (if left ", left out" "")))
             (added (mapconcat (lambda (line) (concat "+ " line "\n")) (remit-hunk-added hunk) "")))
        (overlay-put overlay 'remit-part part)
        (overlay-put overlay 'face (if left 'shadow 'diff-removed))
        (overlay-put overlay 'before-string (propertize title 'face 'remit-hint))
        (overlay-put overlay 'after-string (propertize added 'face (if left 'shadow 'diff-added)))
        (push overlay (remit-question-overlays question))))))

(defun remit--mark-left-out (question)
  "Mark the parts that are left out in the buffer of QUESTION."
  (with-current-buffer (remit-question-buffer question)
    (mapc #'delete-overlay remit--marks)
    (setq remit--marks nil)
    (dolist (each (remit-question-left-out question))
      (let ((start (point-min)))
        (while (and (< start (point-max)) (not (equal (get-text-property start 'remit-part) (car each))))
          (setq start (next-single-property-change start 'remit-part nil (point-max))))
        (let ((mark (make-overlay start (next-single-property-change start 'remit-part nil (point-max)))))
          (overlay-put mark 'face 'shadow)
          (overlay-put mark 'before-string
                       (propertize (format "left out%s\n" (if (cdr each) (format ": %s" (cdr each)) ""))
                                   'face 'remit-ask))
          (push mark remit--marks))))))

;; the answers

(defun remit--this-question ()
  "Return the question that this buffer shows."
  (or remit--question (user-error "Remit is not asking anything here")))

(defun remit--part-here ()
  "Return the part of the change at point."
  (get-text-property (point) 'remit-part))

(defun remit--respond (question decision scope &optional comment)
  "Answer QUESTION with DECISION for SCOPE; COMMENT is for the model."
  (let* ((event (remit-question-event question))
         (chat (remit-question-chat question))
         (allowed (equal decision "allow"))
         (server (or (remit--find-server (buffer-local-value 'remit--root chat)) (user-error "The server ended"))))
    (remit--request
     server :remit/approval/respond
     (append (list :approval_id (plist-get event :approval_id) :decision decision :scope scope
                   :digest (plist-get event :digest)
                   :left_out (if allowed (remit--left-out-json (remit-question-left-out question)) []))
             (and comment (list :comment comment)))
     (lambda (problem receipt)
       (with-current-buffer chat
         (cond
          (problem (remit--say problem 'remit-problem))
          ((not (remit--truth (plist-get receipt :accepted)))
           (remit--say (format "Not accepted: %s" (plist-get receipt :reason)) 'remit-problem))))))))

(defun remit--allow (scope)
  "Allow the question for SCOPE, if its end is visible."
  (let ((question (remit--this-question)))
    (unless (pos-visible-in-window-p (1- (point-max)))  ; after the last newline nothing is visible
      (ignore-errors (scroll-up))
      (user-error "Scroll to the end to allow it"))
    (unless (seq-contains-p (plist-get (remit-question-event question) :scopes) scope)
      (user-error "This answer is not available here"))
    (when (and (remit-question-left-out question) (not (equal scope "once")))
      (user-error "With hunks left out, only y (allow once) is possible"))
    (remit--respond question "allow" scope)))

(defun remit-allow ()
  "Allow once what is asked, without the parts that are left out."
  (interactive)
  (remit--allow "once"))

(defun remit-allow-for-session ()
  "Allow what is asked, and for the session what the question shows under `s'."
  (interactive)
  (remit--allow "session"))

(defun remit-allow-edits ()
  "Allow what is asked, and all other edits of the session."
  (interactive)
  (remit--allow "edits"))

(defun remit-allow-always ()
  "Allow what is asked, and add the shown rule for this workspace.
If the rule is not shown yet, only show it."
  (interactive)
  (if (remit-question-detailed (remit--this-question)) (remit--allow "always") (remit-details)))

(defun remit-allow-everywhere ()
  "Allow what is asked, and add the shown rule for all workspaces.
If the rule is not shown yet, only show it."
  (interactive)
  (if (remit-question-detailed (remit--this-question)) (remit--allow "everywhere") (remit-details)))

(defun remit-details ()
  "Show which rules ask, and which rule each further answer would add."
  (interactive)
  (let ((question (remit--this-question)) (inhibit-read-only t))
    (unless (remit-question-detailed question)
      (setf (remit-question-detailed question) t)
      (goto-char (point-max))
      (remit--insert-details (remit-question-event question))
      (set-buffer-modified-p nil))))

(defun remit-deny ()
  "Deny the question."
  (interactive)
  (remit--respond (remit--this-question) "deny" "once"))

(defun remit-deny-with-words (words)
  "Deny the question, and tell the model WORDS as the reason."
  (interactive "sNo, because: ")
  (remit--respond (remit--this-question) "deny" "once" (and (not (string-empty-p words)) words)))

(defun remit--toggle (comment)
  "Leave the part at point out, with COMMENT for the model, or include it again."
  (let ((question (remit--this-question)))
    (unless (remit--truth (plist-get (remit-question-event question) :by_hunk))
      (user-error "This change can only be allowed as a whole"))
    (unless (remit--part-here) (user-error "No part of the change is here; M-n goes to the next hunk"))
    (setf (remit-question-left-out question)
          (remit--toggled (remit-question-left-out question) (remit--part-here) comment))
    (remit--mark-left-out question)
    (remit--draw-in-files question)))

(defun remit-leave-out ()
  "Exclude the hunk at point from what you allow, or include it again."
  (interactive)
  (remit--toggle nil))

(defun remit-comment (words)
  "Leave the hunk at point out, and tell the model WORDS as the reason."
  (interactive "sLeft out, because: ")
  (when (string-empty-p words) (user-error "You entered no text"))
  (remit--toggle words))

(provide 'remit-review)
;;; remit-review.el ends here
