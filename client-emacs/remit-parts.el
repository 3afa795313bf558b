;;; remit-parts.el --- The parts of a shown change  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The hunks of a diff, and the parts of a change that the person leaves out when they allow it.  Pure.

;;; Code:

(require 'cl-lib)
(require 'seq)

(cl-defstruct remit-hunk
  "A hunk of a diff.
It removes COUNT lines from LINE on, and adds the lines ADDED.  It is hunk
NUMBER of the diff, and begins at the diff's line AT.  All count from 0."
  line count added number at)

(defun remit--hunks (diff)
  "Return the hunks of the unified diff DIFF."
  (let ((at 0) found hunk begun)
    (dolist (line (split-string diff "\n"))
      (cond
       ((string-match "\\`@@ -\\([0-9]+\\)\\(,[0-9]+\\)? " line)
        ;; If the hunk removes nothing, the line number in the diff is that of the line before the hunk.
        (setq hunk (make-remit-hunk :line (- (string-to-number (match-string 1 line))
                                             (if (equal (match-string 2 line) ",0") 0 1))
                                    :count 0 :number (length found) :at at)
              begun nil)
        (push hunk found))
       ((not hunk))
       ((string-prefix-p "-" line) (setq begun t) (cl-incf (remit-hunk-count hunk)))
       ((string-prefix-p "+" line) (setq begun t) (push (substring line 1) (remit-hunk-added hunk)))
       ((and (not begun) (string-prefix-p " " line)) (cl-incf (remit-hunk-line hunk))))
      (cl-incf at))
    (dolist (each found) (setf (remit-hunk-added each) (nreverse (remit-hunk-added each))))
    (nreverse found)))

(defun remit--part (path hunk)
  "Return the part for HUNK of the file PATH.
If HUNK is nil, the part is the whole file."
  (cons path hunk))

(defun remit--toggled (left-out part &optional comment)
  "Return LEFT-OUT with PART added, or removed if it was in it.
LEFT-OUT is an alist of parts and comments.  With a COMMENT the part is
added in any case."
  (let ((others (seq-remove (lambda (each) (equal (car each) part)) left-out)))
    (if (or comment (= (length others) (length left-out)))
        (append others (list (cons part comment)))
      others)))

(defun remit--left-out-json (left-out)
  "Return LEFT-OUT in the form that is sent to the server."
  (vconcat (mapcar (lambda (each)
                     (append (list :path (caar each) :hunk (cdar each))
                             (and (cdr each) (list :comment (cdr each)))))
                   left-out)))

(provide 'remit-parts)
;;; remit-parts.el ends here
