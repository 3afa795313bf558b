;;; remit-repeats.el --- What a turn tells twice  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Why a call was not done, what its command printed, and why not all was done (EDI-02).  The chat shows each at once, and
;; its first telling goes once the turn has ended.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)

(cl-defstruct remit-telling
  "What the chat tells of the call CALL in PLACES, which are pairs of markers.
That is WORDS, why it was not done, with SHORT, which stays if the end of the
turn tells it again; or, without them, what its command printed."
  call places words short)

(defun remit--printed-at (places)
  "Return the text of this buffer between the markers of PLACES."
  (mapconcat (lambda (place) (buffer-substring-no-properties (car place) (cdr place))) places ""))

(defun remit--plain (text)
  "Return TEXT without what can differ between two tellings."
  (string-trim (replace-regexp-in-string "[ \t\n]+" " " (string-replace "`" "" (downcase text)))))

(defun remit--tells (told words)
  "Return whether TOLD tells WORDS."
  (string-search (remit--plain words) (remit--plain told)))

(defun remit--has-output (answer printed)
  "Return whether ANSWER has every line of what a command PRINTED."
  (let ((there (make-hash-table :test #'equal)) (lines (split-string printed "\n" t "[ \t\r]+")))
    (dolist (line (split-string answer "\n" t "[ \t\r]+")) (puthash line t there))
    (and lines (seq-every-p (lambda (line) (gethash line there)) lines))))

(defun remit--reason-left (reason answer)
  "Return REASON, why not all was done, unless ANSWER tells it."
  (unless (and reason (remit--tells answer (string-remove-prefix "the last command failed: " reason)))
    reason))

(defun remit--is-told-again (telling answer ending)
  "Return whether ANSWER or ENDING of the turn tells TELLING of this chat again."
  (let ((words (remit-telling-words telling)))
    (if words
        (or (remit--tells answer words) (remit--tells ending words))
      (remit--has-output answer (remit--printed-at (remit-telling-places telling))))))

(provide 'remit-repeats)
;;; remit-repeats.el ends here
