;;; remit-chat.el --- The chat's buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Each workspace has a chat buffer.  It shows turns as they run, and keeps the running turn and the waiting questions
;; (EMA-03).

;;; Code:

(require 'remit-repeats)
(require 'remit-server)

(defconst remit--most-lines 10000 "The most lines that a chat buffer keeps; the session has all of them.")

(defface remit-intent '((t :inherit font-lock-type-face)) "The intent of a step." :group 'remit)
(defface remit-tool '((t :inherit font-lock-function-name-face)) "Names of called tools, and of files." :group 'remit)
(defface remit-hint '((t :inherit shadow)) "All other events." :group 'remit)
(defface remit-ask '((t :inherit warning)) "Questions and warnings." :group 'remit)
(defface remit-problem '((t :inherit error)) "Errors." :group 'remit)
(defface remit-prompt '((t :inherit bold)) "Messages of the person." :group 'remit)

(declare-function remit-ask "remit" (line))
(declare-function remit-review "remit" ())
(declare-function remit-yes "remit" ())
(declare-function remit-stop "remit" ())

(defvar-local remit--root nil "The workspace folder of this chat.")
(defvar-local remit--session nil "The session that this chat continues.")
(defvar-local remit--running nil "The running turn.")
(defvar-local remit--intent nil "The intent of the running turn's current step.")
(defvar-local remit--standing nil "Mode and state of the workflow, or nil if the mode is `explore'.")
(defvar-local remit--suggestion nil "The sentence that a yes as the next message would do, or nil.")
(defvar-local remit--tellings nil "What the running turn has told that its end may tell again, newest first.")
(defvar-local remit--questions nil "The questions that wait, oldest first.")
(defvar-local remit--streaming nil "Whether the next streamed text continues the last line.")

(defvar remit-chat-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "i" #'remit-ask)
    (define-key map "r" #'remit-review)
    (define-key map "k" #'remit-stop)
    (define-key map (kbd "RET") #'remit-yes)
    map)
  "Keymap of the chat.")

(define-derived-mode remit-chat-mode special-mode "Remit"
  "The chat of a workspace.

\\{remit-chat-mode-map}"
  (setq-local truncate-lines nil)
  (setq-local truncate-partial-width-windows nil)
  (setq-local word-wrap t)
  (buffer-disable-undo))

(defun remit--chat (server)
  "Return the chat of SERVER's workspace.
It is created if there is none, and outlives the server."
  (let ((root (remit--server-root server)))
    (or (cl-find root (buffer-list) :key (lambda (each) (buffer-local-value 'remit--root each)) :test #'equal)
        (with-current-buffer (generate-new-buffer
                              (format "*Remit: %s*" (file-name-nondirectory (directory-file-name root))))
          (remit-chat-mode)
          (setq remit--root root default-directory root)
          (current-buffer)))))

(defun remit--show-chat (chat)
  "Show CHAT in another window; the cursor stays where it is."
  (display-buffer chat '((display-buffer-reuse-window display-buffer-pop-up-window) (inhibit-same-window . t))))

(defmacro remit--adding (&rest body)
  "Run BODY at the end of the chat.
A window whose point is at the end follows."
  (declare (indent 0) (debug t))
  `(let ((inhibit-read-only t)
         (following (seq-filter (lambda (each) (= (window-point each) (point-max)))
                                (get-buffer-window-list nil nil t)))
         (at-end (eobp)))
     (save-excursion (goto-char (point-max)) ,@body)
     (when at-end (goto-char (point-max)))
     (dolist (each following) (set-window-point each (point-max)))))

(defvar remit--behind ""
  "The text before each line that is drawn: a bar for a sub-agent, else empty.")

(defun remit--say (text &optional face)
  "Add TEXT on new lines, in FACE.  Return the place where it stands."
  (let (start)
    (remit--adding
      (unless (bolp) (insert "\n"))
      (setq start (point-marker))
      (let ((lines (string-replace "\n" (concat "\n" remit--behind) (string-trim-right text "\n"))))
        (insert (propertize (concat remit--behind lines) 'face face) "\n")))
    (setq remit--streaming nil)
    (cons start (copy-marker (point-max)))))

(defun remit--say-printed (event)
  "Add what a command printed, from EVENT, and note where it stands."
  (let* ((place (remit--say (plist-get event :text) 'remit-hint))
         (call (plist-get event :tool_call_id))
         (known (cl-find call remit--tellings :key #'remit-telling-call :test #'equal))
         (last (and known (car (remit-telling-places known)))))
    (cond
     ((not known) (push (make-remit-telling :call call :places (list place)) remit--tellings))
     ((= (cdr last) (car place)) (set-marker (cdr last) (cdr place)))
     (t (push place (remit-telling-places known))))))

(defun remit--tell-once (answer ending)
  "Take away what ANSWER or ENDING of the turn tells again."
  (let ((inhibit-read-only t))
    (dolist (telling remit--tellings)
      (when (remit--is-told-again telling answer ending)
        (pcase-dolist (`(,start . ,end) (remit-telling-places telling))
          (save-excursion
            (goto-char start)
            (delete-region start end)
            (when (remit-telling-short telling)
              (insert (propertize (remit-telling-short telling) 'face 'remit-problem) "\n")))))))
  (setq remit--tellings nil))

(defun remit--begin (line)
  "Begin a turn with LINE in the chat.
The first lines of a long chat are removed."
  (let ((inhibit-read-only t) (over (- (count-lines (point-min) (point-max)) remit--most-lines)))
    (when (> over 0)
      (save-excursion
        (goto-char (point-min))
        (forward-line over)
        (delete-region (point-min) (point))
        (insert "… earlier lines are in the session: M-x remit-sessions\n"))))
  (setq remit--suggestion nil remit--tellings nil)
  (remit--say (concat "\n❯ " line) 'remit-prompt))

(defun remit--stream (text)
  "Add TEXT to the end of the streamed text."
  (remit--adding
    (unless (or remit--streaming (bolp)) (insert "\n"))
    (insert text))
  (setq remit--streaming t))

(defun remit--clear ()
  "Empty the chat."
  (let ((inhibit-read-only t)) (erase-buffer))
  (setq remit--streaming nil remit--suggestion nil remit--tellings nil))

(defun remit--truth (value)
  "Return whether VALUE is true in JSON."
  (and value (not (eq value :json-false))))

(defun remit--about (arguments)
  "Return the path, command or work in ARGUMENTS of a call, in one line."
  (let ((about (or (plist-get arguments :path) (plist-get arguments :command) (plist-get arguments :work))))
    (if (stringp about) (subst-char-in-string ?\n ?\s about) "")))

(defun remit--draw (event)
  "Add EVENT of a turn to the chat, after a bar if a sub-agent caused it."
  (let ((remit--behind (if (plist-get event :sub_agent) "┆ " "")))
    (remit--draw-plain event)))

(defconst remit--allowed
  '(("once" . "allowed once") ("session" . "allowed for this session") ("edits" . "all edits of this session allowed")
    ("always" . "always allowed in this workspace") ("everywhere" . "always allowed in every workspace"))
  "What an answer of each scope allows.")

(defconst remit--somebody
  '(("person" . "you") ("beforehand" . "an answer from the command line")
    ("standing_answer" . "an answer you gave before") ("review" . "the review of the work"))
  "Who answered.")

(defconst remit--events
  '(("deadline" . "nobody answered in time") ("disconnected" . "the connection was lost")
    ("unavailable" . "nobody was there to ask") ("cancelled" . "the turn ended")
    ("withdrawn" . "one of its files was renamed, deleted or created"))
  "What ended a question that nobody answered.")

(defun remit--answer-words (answer)
  "Return how the question of ANSWER ended, and who or what ended it."
  (let* ((by (plist-get answer :by))
         (who (cdr (assoc by remit--somebody)))
         (reason (plist-get answer :reason))
         (how (if (equal (plist-get answer :decision) "deny") "denied"
                (or (cdr (assoc (plist-get answer :scope) remit--allowed)) "allowed"))))
    (if (and who (not (stringp reason)))
        (format "%s by %s" how who)
      (format "%s: %s" how (if (stringp reason) reason (or (cdr (assoc by remit--events)) by))))))

(defun remit--draw-plain (event)
  "Add EVENT of a turn to the chat."
  (pcase (plist-get event :kind)
    ("run_started"
     (when (plist-get event :sent_to) (remit--say (format "sent to %s" (plist-get event :sent_to)) 'remit-ask)))
    ("intent_selected" (remit--say (format "[%s]" (plist-get event :intent)) 'remit-intent))
    ("token_delta" (remit--stream (plist-get event :text)))
    ("tool_call"
     (remit--say (format "→ %s %s" (plist-get event :tool) (remit--about (plist-get event :arguments))) 'remit-tool))
    ("tool_output" (remit--say-printed event))
    ((or "command_waits" "process_changed") (remit--say (plist-get event :means) 'remit-hint))
    ("tool_result" (remit--draw-result event))
    ("approval_required" (remit--say (format "Remit asks: %s" (plist-get event :title)) 'remit-ask))
    ("approval_resolved"
     (remit--say (remit--answer-words event) 'remit-hint))
    ("state_changed"
     (unless (equal (plist-get event :mode) "explore") (remit--say (plist-get event :means) 'remit-hint)))
    ("review_resolved"
     (remit--say (format "%d accepted, %d left out" (plist-get event :accepted) (plist-get event :rejected)) 'remit-hint))
    ("warning" (remit--say (plist-get event :message) 'remit-ask))))

(defun remit--went-well (ok result)
  "Return whether a call succeeded.
It did if OK is true and no program of RESULT ended with an error."
  (and (remit--truth ok)
       (equal (or (plist-get result :exit_code) 0) 0)
       (not (eq (plist-get (plist-get result :data) :passed) :json-false))))

(defun remit--draw-result (event)
  "Add the result of a call in EVENT, and the rules that decided it."
  (let* ((well (remit--went-well (plist-get event :ok) event))
         (rules (append (plist-get event :rules) nil))
         (by (if rules (format " (%s)" (string-join rules ", ")) ""))
         (summary (plist-get event :summary))
         (place (remit--say (format "%s %s%s" (if well "✓" "✗") summary by) (if well 'remit-hint 'remit-problem)))
         (code (plist-get (plist-get event :error) :code)))
    ;; A program that was stopped at a limit has run.
    (unless (member code '(nil "timed_out" "stopped"))
      (push (make-remit-telling :places (list place) :words (string-remove-prefix "not done: " summary)
                                :short (concat remit--behind "✗ not done" by))
            remit--tellings))))

(defun remit--draw-end (result)
  "Add the files that a turn changed, and how it ended, from RESULT.
If the model suggests a sentence, say which key answers yes (MOD-29)."
  (setq remit--suggestion (plist-get result :suggestion))
  (let ((problem (plist-get result :error)))
    (remit--tell-once (or (plist-get result :final_output) "")
                      (or (plist-get result :reason)
                          (if problem (format "%s: %s" (plist-get problem :what) (plist-get problem :why)) ""))))
  (seq-doseq (change (plist-get result :changes))
    (remit--say (format "  %s%s%s%s"
                        (if (plist-get change :moved_from) (format "%s → " (plist-get change :moved_from)) "")
                        (plist-get change :path)
                        (if (plist-get change :added)
                            (format " +%d −%d" (plist-get change :added) (plist-get change :removed))
                          "")
                        (pcase (plist-get change :how) ("created" " (new)") ("deleted" " (deleted)") (_ "")))
                'remit-hint))
  (let ((command (plist-get result :taken_back_by)))
    (when (and (> (length (plist-get result :changes)) 0) (stringp command))
      (remit--say (format "  M-x remit-%s takes it back" command) 'remit-hint)))
  (let* ((problem (plist-get result :error))
         (status (plist-get result :status))
         (whole (and (equal status "completed") (not (plist-get result :reason))))
         (word (if (equal status "completed") "not all done" (string-replace "_" " " status)))
         (reason (remit--reason-left (plist-get result :reason) (or (plist-get result :final_output) ""))))
    (cond
     (problem (remit--say (remit--problem problem) 'remit-problem))
     ((not whole)
      (remit--say (if reason (format "%s: %s" word reason) word) 'remit-ask)
      (when remit--suggestion (remit--say "  RET yes   i in other words" 'remit-hint)))
     ((and (plist-member result :tool_trace) (= (length (plist-get result :changes)) 0))
      (let ((calls (length (plist-get result :tool_trace))))
        (remit--say (format "completed · %d call%s, no file changed" calls (if (= calls 1) "" "s")) 'remit-hint))))))

(defun remit--replay (record)
  "Add RECORD of a stored session to the chat.  Nothing is run again."
  (let ((own (equal (plist-get record :name) "select_active_intent"))
        (remit--behind (if (plist-get record :parent) "┆ " "")))
    (pcase (plist-get record :type)
      ("user" (when (equal (plist-get record :origin) "person")
                (remit--say (concat "\n❯ " (plist-get record :content)) 'remit-prompt)))
      ("assistant" (unless (string-empty-p (plist-get record :content)) (remit--say (plist-get record :content))))
      ("intent" (remit--say (format "[%s]" (plist-get record :intent)) 'remit-intent))
      ("tool_call"
       (unless own
         (remit--say (format "→ %s %s" (plist-get record :name) (remit--about (plist-get record :arguments)))
                     'remit-tool)))
      ("tool_result"
       (unless own
         (if (remit--went-well (plist-get record :success) record)
             (remit--say "✓" 'remit-hint)
           (remit--say "✗" 'remit-problem))))
      ("approval"
       (remit--say (format "%s · %s" (remit--answer-words record) (plist-get record :title)) 'remit-hint))
      ("warning" (remit--say (plist-get record :message) 'remit-ask))
      ("turn_end" (remit--draw-end record)))))

(provide 'remit-chat)
;;; remit-chat.el ends here
