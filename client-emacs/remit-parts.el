;;; remit-parts.el --- A shown change in parts  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Hunks of a diff, and which parts of a change are left out of a yes.  Pure.

;;; Code:

(require 'cl-lib)
(require 'seq)

(cl-defstruct remit-hunk
  "A hunk of a diff: COUNT lines go from LINE on, counted from 0, and ADDED come.
It has NUMBER of the diff's hunks, and begins at the line AT of it, both from 0."
  line count added number at)

(defun remit--hunks (diff)
  "Return the hunks of DIFF, a unified one."
  (let ((at 0) found hunk begun)
    (dolist (line (split-string diff "\n"))
      (cond
       ((string-match "\\`@@ -\\([0-9]+\\)\\(,[0-9]+\\)? " line)
        ;; Where nothing is taken away, the number is that of the line before.
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
  "Return the part that is HUNK of the file PATH.
Where HUNK is nil, it is the whole file."
  (cons path hunk))

(defun remit--toggled (left-out part &optional comment)
  "Return LEFT-OUT with PART left out, or taken again.
It is an alist of parts and comments.  With a COMMENT the part is left out
in any case."
  (let ((others (seq-remove (lambda (each) (equal (car each) part)) left-out)))
    (if (or comment (= (length others) (length left-out)))
        (append others (list (cons part comment)))
      others)))

(defun remit--left-out-json (left-out)
  "Return LEFT-OUT as it is sent."
  (vconcat (mapcar (lambda (each)
                     (append (list :path (caar each) :hunk (cdar each))
                             (and (cdr each) (list :comment (cdr each)))))
                   left-out)))

(provide 'remit-parts)
;;; remit-parts.el ends here
