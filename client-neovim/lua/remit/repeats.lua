-- What a turn tells twice: why a call was not done, what its command printed, why not all was done (EDI-02). The chat shows each at once,
-- and its first telling goes once the turn has ended.
local M = {}
local space = vim.api.nvim_create_namespace('remit.repeats')
-- The lines of the running turn that its end may tell again: what each command printed, and why a call was not done.
local printed, failed = {}, {}

local function plain(text) return vim.trim((text:lower():gsub('`', ''):gsub('%s+', ' '))) end

local function tells(told, words) return plain(told):find(plain(words), 1, true) ~= nil end

local function row_of(buffer, place) return vim.api.nvim_buf_get_extmark_by_id(buffer, space, place.mark, {})[1] end

--- Whether an answer has every line of what a command printed at these places of the chat.
local function has_output(answer, buffer, places)
  local there, some = {}, false
  for _, line in ipairs(vim.split(answer, '\n')) do there[vim.trim(line)] = true end
  for _, place in ipairs(places) do
    local row = row_of(buffer, place)
    for _, line in ipairs(vim.api.nvim_buf_get_lines(buffer, row, row + place.count, false)) do
      if vim.trim(line) ~= '' and not there[vim.trim(line)] then return false end
      some = some or vim.trim(line) ~= ''
    end
  end
  return some
end

local function place_at(buffer, row, count) return { mark = vim.api.nvim_buf_set_extmark(buffer, space, row, 0, {}), count = count } end

--- Why not all was done; nil if the answer tells it.
function M.reason_left(reason, answer)
  local told = reason and tells(answer, (reason:gsub('^the last command failed: ', '')))
  if not told then return reason end
end

--- Notes that the command of a call printed `count` lines, from `row` on.
function M.note_printed(buffer, row, count, call)
  local places = printed[call] or {}
  local last = places[#places]
  if last and row_of(buffer, last) + last.count == row then
    last.count = last.count + count
  else
    table.insert(places, place_at(buffer, row, count))
  end
  printed[call] = places
end

--- Notes that `count` lines from `row` on say why a call was not done; `short` is the line that does not.
function M.note_failed(buffer, row, count, why, short)
  table.insert(failed, { place = place_at(buffer, row, count), why = (why:gsub('^not done: ', '')), short = short })
end

--- Takes away what the answer or the `ending` of the turn tells again. `replace(row, count, lines)` changes the chat.
function M.tell_once(buffer, answer, ending, replace)
  for _, places in pairs(printed) do
    for _, place in ipairs(has_output(answer, buffer, places) and places or {}) do replace(row_of(buffer, place), place.count, {}) end
  end
  for _, call in ipairs(failed) do
    if tells(answer, call.why) or tells(ending, call.why) then replace(row_of(buffer, call.place), call.place.count, { call.short }) end
  end
  M.forget(buffer)
end

function M.forget(buffer)
  printed, failed = {}, {}
  vim.api.nvim_buf_clear_namespace(buffer, space, 0, -1)
end

return M
