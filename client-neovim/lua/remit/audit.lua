-- `:Remit audit` lists the last calls, newest first; a key opens the rule that decided a call (NVI-06).
local server = require('remit.server')

local M = {}
local known = server.known
local MOST = 200
local GROUPS = { denied = 'RemitError', review_required = 'RemitAsk' }

local calls = {} -- in the order of the buffer's lines

--- The path or command that a call was about, from the first of its actions.
---@param call table a record of the audit log
---@return string
local function subject(call)
  local good, actions = pcall(vim.fn.json_decode, known(call.actions) or '[]')
  local first = good and type(actions) == 'table' and actions[1] or {}
  local about = known(first.path) or known(first.script) or known(first.command) or ''
  if type(about) == 'table' then about = table.concat(about, ' ') end
  return (about:gsub('%s+', ' ')):sub(1, 120)
end

---@param call table a record of the audit log
---@return string
local function line_of(call)
  local decision = (known(call.policy_decision) or ''):gsub('_', ' ')
  if known(call.failed) and call.policy_decision ~= 'denied' then decision = 'not done' end
  local time = call.time:sub(1, 19):gsub('T', ' ')
  return ('%s  %-15s  %-14s  %s  (%s)'):format(time, decision, known(call.tool_name) or '', subject(call), known(call.policy_rule_name) or 'no rule')
end

--- The place of the first rule when it decided: its name, and if known its file and line.
---@param call table a record of the audit log
local function place_of(call)
  local at = vim.split(known(call.policy_rule_at) or '', ', ', { plain = true })[1]
  local file, line = at:match('^(.*):(%d+)$')
  return { rule = vim.split(call.policy_rule_name, ', ', { plain = true })[1], file = file, line = tonumber(line) }
end

local function go_to_rule()
  local call = calls[vim.api.nvim_win_get_cursor(0)[1]]
  if not call or not known(call.policy_rule_name) then return vim.notify('no rule decided this', vim.log.levels.WARN) end
  local params = { command = 'remit.policy.open', arguments = { place_of(call) } }
  server.request('workspace/executeCommand', params, function(problem, found)
    if problem then return vim.notify(problem, vim.log.levels.ERROR) end
    if found.shown then return end -- The server has had the editor show it.
    vim.cmd(('split +%d %s'):format(found.line, vim.fn.fnameescape(found.file)))
  end)
end

local function show(found)
  calls = found
  local buffer = vim.fn.bufadd('remit://audit')
  vim.cmd(('botright split | buffer %d'):format(buffer))
  for name, value in pairs({ buftype = 'nofile', bufhidden = 'hide', swapfile = false, modifiable = true }) do
    vim.bo[buffer][name] = value
  end
  vim.wo.wrap = false
  local lines = vim.tbl_map(line_of, found)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, #lines > 0 and lines or { 'no record matches' })
  for row, call in ipairs(found) do
    local group = GROUPS[known(call.policy_decision)]
    if group then vim.api.nvim_buf_add_highlight(buffer, -1, group, row - 1, 0, -1) end
  end
  vim.bo[buffer].modifiable = false
  vim.keymap.set('n', '<CR>', go_to_rule, { buffer = buffer, nowait = true })
  vim.keymap.set('n', 'q', function() vim.cmd('close') end, { buffer = buffer, nowait = true })
end

--- Lists the last calls; with a decision only calls with that one: `allowed`, `review_required` or `denied`.
---@param decision string|nil
function M.open(decision)
  server.execute('remit.audit.query', { limit = MOST, decision = decision }, function(problem, found)
    if problem then return vim.notify(problem, vim.log.levels.ERROR) end
    show(found)
  end)
end

return M
