-- Draws a waiting change in the files that it would change: the added lines below the removed ones (NVI-02).
local parts = require('remit.parts')

local M = {}
local space = vim.api.nvim_create_namespace('remit.review')
local drawn = {} -- buffer -> extmark -> { path, hunk }

local function buffer_of(path)
  local name = require('remit.turn').folder .. '/' .. path
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and vim.api.nvim_buf_get_name(buffer) == name then return buffer end
  end
end

local function draw_hunk(buffer, question, diff, hunk, total)
  local left = parts.is_left_out(question.left_out, diff.path, hunk.number)
  local last = vim.api.nvim_buf_line_count(buffer)
  local group = left and 'RemitLeftOut' or 'RemitAdd'
  local below = vim.tbl_map(function(line) return { { '+ ' .. line, group } } end, hunk.added)
  local line = math.min(hunk.line, last - 1)
  for row = line, math.min(line + hunk.count, last) - 1 do
    local there = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1] or ''
    vim.api.nvim_buf_set_extmark(buffer, space, row, 0, { end_col = #there, hl_group = left and 'RemitLeftOut' or 'RemitDelete' })
  end
  local title = (' hunk %d of %d%s'):format(hunk.number + 1, total, left and ', left out' or '')
  local mark = vim.api.nvim_buf_set_extmark(buffer, space, line, 0, { virt_text = { { title, 'RemitHint' } } })
  if #below > 0 then
    local at = math.max(0, math.min(line + hunk.count, last) - 1)
    vim.api.nvim_buf_set_extmark(buffer, space, at, 0, { virt_lines = below })
  end
  drawn[buffer][mark] = { path = diff.path, hunk = hunk.number }
end

--- Draws a question in the buffers of the files that it would change.
function M.show(question)
  M.clear()
  for _, diff in ipairs(question.event.diffs) do
    local buffer = buffer_of(diff.path)
    if buffer then
      drawn[buffer] = {}
      local hunks = parts.hunks(diff.diff)
      for _, hunk in ipairs(hunks) do draw_hunk(buffer, question, diff, hunk, #hunks) end
    end
  end
end

function M.clear()
  for buffer in pairs(drawn) do
    if vim.api.nvim_buf_is_valid(buffer) then vim.api.nvim_buf_clear_namespace(buffer, space, 0, -1) end
  end
  drawn = {}
end

local function places()
  local found = {}
  for mark, part in pairs(drawn[vim.api.nvim_get_current_buf()] or {}) do
    local row = vim.api.nvim_buf_get_extmark_by_id(0, space, mark, {})[1]
    if row then table.insert(found, { row = row, part = part }) end
  end
  table.sort(found, function(one, other) return one.row < other.row end)
  return found
end

--- Moves the cursor to the next hunk (1) or the previous one (-1), and wraps around.
function M.jump(step)
  local found, row = places(), vim.api.nvim_win_get_cursor(0)[1] - 1
  if #found == 0 then return vim.notify('no change is waiting in this file') end
  local ahead = vim.tbl_filter(function(each) return step > 0 and each.row > row or step < 0 and each.row < row end, found)
  local target = step > 0 and (ahead[1] or found[1]) or (ahead[#ahead] or found[#found])
  vim.api.nvim_win_set_cursor(0, { target.row + 1, 0 })
end

--- The part at the cursor: the last hunk that begins at or above it, or else the first one.
local function part_here()
  local row, here = vim.api.nvim_win_get_cursor(0)[1] - 1, nil
  for _, each in ipairs(places()) do
    if each.row <= row or not here then here = each.part end
  end
  return here
end

--- Leaves a part out of the answer, or includes it again.
function M.toggle(part, comment)
  local question = require('remit.turn').question
  if not question or not part then return vim.notify('no change is waiting here', vim.log.levels.WARN) end
  if not question.event.by_hunk then return vim.notify('this change can only be allowed as a whole', vim.log.levels.WARN) end
  question.left_out = parts.toggled(question.left_out, part.path, part.hunk, comment)
  M.show(question)
  require('remit.chat').mark(question)
end

--- Leaves a part out, with a comment for the model.
function M.comment(part)
  if not part then return M.toggle(nil) end
  vim.ui.input({ prompt = 'Left out, because: ' }, function(words)
    if words and words ~= '' then M.toggle(part, words) end
  end)
end

function M.toggle_here() M.toggle(part_here()) end

function M.comment_here() M.comment(part_here()) end

return M
