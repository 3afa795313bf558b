-- The parts of a shown change: its hunks, and the files that can only be taken as a whole. Pure.
local M = {}

---@class remit.Hunk
---@field line number the first changed line in the text before the change, from 0
---@field count number how many lines the hunk removes
---@field added string[]
---@field number number of the hunk, from 0
---@field at number the line of the diff where the hunk begins, from 1

---@param diff string a unified diff
---@return remit.Hunk[]
function M.hunks(diff)
  local found = {}
  for at, line in ipairs(vim.split(diff, '\n')) do
    local start, count = line:match('^@@ %-(%d+)(,?%d*) ')
    local hunk = found[#found]
    if start then
      -- If the hunk removes nothing, the line number in the diff is that of the line before the hunk.
      local first = tonumber(start) - (count == ',0' and 0 or 1)
      table.insert(found, { line = first, count = 0, added = {}, number = #found, at = at, begun = false })
    elseif hunk and line:find('^%-') then
      hunk.begun, hunk.count = true, hunk.count + 1
    elseif hunk and line:find('^%+') then
      hunk.begun = true
      table.insert(hunk.added, line:sub(2))
    elseif hunk and not hunk.begun and line:find('^ ') then
      hunk.line = hunk.line + 1
    end
  end
  return found
end

local function same(each, path, hunk) return each.path == path and each.hunk == hunk end

function M.is_left_out(left_out, path, hunk)
  for _, each in ipairs(left_out) do
    if same(each, path, hunk) then return true end
  end
  return false
end

--- Leaves a part out, or includes it again if it was left out. With a comment the part is left out in any case.
function M.toggled(left_out, path, hunk, comment)
  local others = vim.tbl_filter(function(each) return not same(each, path, hunk) end, left_out)
  if #others == #left_out or comment then table.insert(others, { path = path, hunk = hunk, comment = comment }) end
  return others
end

return M
