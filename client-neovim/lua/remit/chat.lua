-- The chat: a buffer next to the code that shows turns as they run. Questions are answered by keys.
local answers = require('remit.answers')
local parts = require('remit.parts')
local repeats = require('remit.repeats')
local server = require('remit.server')

local M = {}
local known = server.known
local MOST_LINES = 10000
local space = vim.api.nvim_create_namespace('remit.chat')
local buffer, asked_at, marks, streaming = nil, nil, {}, nil
-- The message that answers yes to the model's question, and the key that sends it.
local YES, YES_KEY = 'yes', '<CR>'

local GROUPS = {
  RemitIntent = 'Type', RemitTool = 'Function', RemitHint = 'Comment', RemitError = 'ErrorMsg', RemitAsk = 'WarningMsg',
  RemitAdd = 'DiffAdd', RemitDelete = 'DiffDelete', RemitLeftOut = 'Comment', RemitPrompt = 'Title',
}
for name, link in pairs(GROUPS) do vim.api.nvim_set_hl(0, name, { link = link, default = true }) end

local function part_at_cursor()
  local row, here = vim.api.nvim_win_get_cursor(0)[1] - 1, nil
  for _, each in ipairs(marks) do
    if each.row <= row then here = each.part end
  end
  return here
end

local KEY_LINES = { '  y allow once   s this session   f all edits this session   ? more', '  n no   N no, with a comment' }

--- Shows below the question, once, which rules ask and which rule each further answer would add (APP-04).
local function show_details()
  local question = require('remit.turn').question
  if not question or question.detailed then return end
  local event, lines = question.event, {}
  for _, reason in ipairs(event.reasons) do
    table.insert(lines, ('  asked by rule %s: %s'):format(known(reason.rule) or reason.layer, reason.reason))
  end
  if known(event.edits_rule) then table.insert(lines, '  f  this session: allow ' .. event.edits_rule) end
  if known(event.always_rule) then table.insert(lines, '  a  always here: adds to permissions.yaml: ' .. event.always_rule) end
  if known(event.everywhere_rule) then
    table.insert(lines, '  e  always everywhere: adds this rule: ' .. event.everywhere_rule)
  end
  question.detailed = true
  asked_at = { last = M.say(table.concat(lines, '\n'), 'RemitHint') + #lines }
  vim.api.nvim_win_set_cursor(0, { asked_at.last, 0 })
end

--- Allows only if the end of the question is visible. An answer that adds a lasting rule must first have shown that rule.
local function allow(scope)
  local turn = require('remit.turn')
  if turn.question and asked_at and vim.fn.line('w$') < asked_at.last then
    vim.api.nvim_win_set_cursor(0, { math.min(vim.fn.line('w$') + 1, asked_at.last), 0 })
    return vim.notify('scroll to the end to allow it', vim.log.levels.WARN)
  end
  local left = turn.question and #turn.question.left_out or 0
  if left > 0 and scope ~= 'once' then
    return vim.notify('with hunks left out, only y (allow once) is possible', vim.log.levels.WARN)
  end
  if turn.question and not vim.tbl_contains(turn.question.event.scopes, scope) then
    return vim.notify('this answer is not available here', vim.log.levels.WARN)
  end
  if turn.question and (scope == 'always' or scope == 'everywhere') and not turn.question.detailed then return show_details() end
  turn.answer('allow', scope)
end

--- The keys that answer, the same in every client (docs/keys.md). They are set only while a question waits, because otherwise `y` copies.
local ANSWERS = {
  y = function() allow('once') end,
  s = function() allow('session') end,
  f = function() allow('edits') end,
  a = function() allow('always') end,
  e = function() allow('everywhere') end,
  n = function() require('remit.turn').answer('deny') end,
  N = function()
    vim.ui.input({ prompt = 'No, because: ' }, function(words)
      if words then require('remit.turn').answer('deny', 'once', words ~= '' and words or nil) end
    end)
  end,
  x = function() require('remit.review').toggle(part_at_cursor()) end,
  c = function() require('remit.review').comment(part_at_cursor()) end,
  ['?'] = show_details,
}

local KEYS = {
  i = function() M.prompt() end,
  q = function() vim.cmd('close') end,
}

local function ready()
  if buffer and vim.api.nvim_buf_is_valid(buffer) then return buffer end
  buffer = vim.api.nvim_create_buf(false, true)
  repeats.forget(buffer)
  vim.api.nvim_buf_set_name(buffer, 'remit://chat')
  for name, value in pairs({ buftype = 'nofile', bufhidden = 'hide', swapfile = false, filetype = 'remit', modifiable = false }) do
    vim.bo[buffer][name] = value
  end
  for key, act in pairs(KEYS) do vim.keymap.set('n', key, act, { buffer = buffer, nowait = true }) end
  return buffer
end

local function set_answers()
  for key, act in pairs(ANSWERS) do vim.keymap.set('n', key, act, { buffer = ready(), nowait = true }) end
end

local function unset_answers()
  for key in pairs(ANSWERS) do pcall(vim.keymap.del, 'n', key, { buffer = ready() }) end
end

--- Lets a key say yes to the sentence that the model suggests, until anything else is sent (MOD-29).
local function offer_yes()
  vim.keymap.set('n', YES_KEY, function() require('remit.turn').ask(YES) end, { buffer = ready(), nowait = true })
  M.say('  Enter yes   i in other words', 'RemitHint')
end

local function withdraw_yes() pcall(vim.keymap.del, 'n', YES_KEY, { buffer = ready() }) end

local function window()
  for _, each in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_buf(each) == ready() then return each end
  end
end

--- Opens the chat next to the code, and moves the cursor there.
function M.open()
  M.open_beside()
  vim.api.nvim_set_current_win(window())
end

local CODE, NARROWEST = 60, 50

--- Splits the window for the chat: on the right if the code keeps enough columns, else below.
local function split_off()
  local left = vim.o.columns - CODE
  local width = math.min(require('remit.config').get().width, left)
  if left < NARROWEST then
    vim.cmd(('botright %dsplit'):format(math.floor(vim.o.lines / 2)))
  else
    vim.cmd(('botright %dvsplit'):format(width))
  end
end

--- Opens the chat next to the code. The cursor stays where it is.
function M.open_beside()
  if window() then return end
  local before = vim.api.nvim_get_current_win()
  split_off()
  vim.api.nvim_win_set_buf(0, ready())
  vim.wo.wrap, vim.wo.linebreak, vim.wo.number, vim.wo.list = true, true, false, false
  vim.api.nvim_set_current_win(before)
end

function M.prompt()
  vim.ui.input({ prompt = 'Remit: ' }, function(line)
    if line and line ~= '' then require('remit.turn').ask(line) end
  end)
end

--- The text before each line of a sub-agent (AGT-17).
local BEHIND = '┆ '
local behind = ''

--- Adds lines. A window that shows the end of the chat follows. Returns the first new row.
local function add(lines, group)
  if behind ~= '' then lines = vim.tbl_map(function(line) return behind .. line end, lines) end
  local there = ready()
  local first = vim.api.nvim_buf_line_count(there)
  local empty = first == 1 and vim.api.nvim_buf_get_lines(there, 0, 1, false)[1] == ''
  local start = empty and 0 or first
  local following = window() and vim.api.nvim_win_get_cursor(window())[1] >= first
  vim.bo[there].modifiable = true
  vim.api.nvim_buf_set_lines(there, start, -1, false, lines)
  vim.bo[there].modifiable = false
  for row = start, start + #lines - 1 do
    if group then vim.api.nvim_buf_add_highlight(there, space, group, row, 0, -1) end
  end
  if following then vim.api.nvim_win_set_cursor(window(), { vim.api.nvim_buf_line_count(there), 0 }) end
  return start
end

local function split(text) return vim.split((text:gsub('\r', '')), '\n') end

function M.say(text, group)
  streaming = nil
  return add(split(text), group)
end

--- Begins a turn in the chat. The oldest lines are removed, so that a long chat stays as quick as a short one (NVI-08).
function M.asked(line)
  local there = ready()
  withdraw_yes()
  repeats.forget(there)
  local over = vim.api.nvim_buf_line_count(there) - MOST_LINES
  if over > 0 then
    vim.bo[there].modifiable = true
    vim.api.nvim_buf_set_lines(there, 0, over, false, { '… earlier lines are in the session: :Remit sessions' })
    vim.bo[there].modifiable = false
  end
  add(vim.list_extend({ '' }, split('❯ ' .. line)), 'RemitPrompt')
end

function M.clear()
  marks, asked_at, streaming = {}, nil, nil
  local there = ready()
  withdraw_yes()
  repeats.forget(there)
  vim.bo[there].modifiable = true
  vim.api.nvim_buf_set_lines(there, 0, -1, false, {})
  vim.bo[there].modifiable = false
end

--- Adds text to the end of the streamed text.
local function stream(text)
  if not streaming then
    streaming = add({ '' })
  end
  local there = ready()
  local last = vim.api.nvim_buf_line_count(there) - 1
  local line = vim.api.nvim_buf_get_lines(there, last, last + 1, false)[1]
  local lines = split(line .. text)
  local following = window() and vim.api.nvim_win_get_cursor(window())[1] >= last + 1
  vim.bo[there].modifiable = true
  vim.api.nvim_buf_set_lines(there, last, last + 1, false, lines)
  vim.bo[there].modifiable = false
  if following then vim.api.nvim_win_set_cursor(window(), { last + #lines, 0 }) end
end

local function draw_question(event)
  local several = (known(event.step_calls) or 1) > 1 and (', call %d of %d'):format(event.step_call, event.step_calls) or ''
  add({ '', ('Remit asks: %s (%s risk%s)'):format(event.title, event.risk, several) }, 'RemitAsk')
  if known(event.asked_by) then add({ '  asked by a sub-agent: ' .. event.asked_by }, 'RemitAsk') end
  for _, reason in ipairs(event.reasons) do
    add({ '  ' .. reason.reason }, 'RemitHint')
  end
  local command = known(event.command) or (known(event.argv) and table.concat(event.argv, ' '))
  if command then M.say('  $ ' .. command:gsub('\n', '\n    ')) end
  if known(event.cwd) then add({ '  in ' .. event.cwd }, 'RemitHint') end
  if #event.hosts > 0 then
    add({ '  in the sandbox, with network to ' .. table.concat(event.hosts, ', ') }, 'RemitAsk')
  elseif command then
    add({ '  in the sandbox, no network' }, 'RemitHint')
  end
  if known(event.near) then add({ '  reaches the process in the background: ' .. event.near }, 'RemitAsk') end
  marks = {}
  for _, diff in ipairs(event.diffs) do
    local first = add({ diff.path .. (diff.created and ' (new)' or diff.deleted and ' (deleted)' or '') }, 'RemitTool')
    local hunks = diff.hunks > 0 and parts.hunks(diff.diff) or {}
    if diff.hunks == 0 then table.insert(marks, { row = first, part = { path = diff.path } }) end
    for at, line in ipairs(vim.split(diff.diff, '\n', { trimempty = true })) do
      local group = line:find('^%+') and 'RemitAdd' or line:find('^%-') and 'RemitDelete' or nil
      local row = add({ line }, group)
      for _, hunk in ipairs(hunks) do
        if hunk.at == at then table.insert(marks, { row = row, part = { path = diff.path, hunk = hunk.number } }) end
      end
    end
  end
  if known(event.session_rule) then add({ '  s  this session: allow ' .. event.session_rule }, 'RemitHint') end
  local keys = vim.deepcopy(KEY_LINES)
  if event.by_hunk then table.insert(keys, 1, '  x leave a hunk out, or put it back   c with a comment') end
  asked_at = { last = add(keys, 'RemitHint') + #keys }
  set_answers()
end

--- Marks each part that is left out.
function M.mark(question)
  local there = ready()
  for _, each in ipairs(marks) do
    if each.mark then vim.api.nvim_buf_del_extmark(there, space, each.mark) end
    each.mark = nil
    if parts.is_left_out(question.left_out, each.part.path, each.part.hunk) then
      each.mark = vim.api.nvim_buf_set_extmark(there, space, each.row, 0, { virt_text = { { ' left out', 'RemitAsk' } } })
    end
  end
end

--- Moves the cursor to the question that waits.
function M.show_question()
  if not require('remit.turn').question then return vim.notify('Remit is not asking anything') end
  M.open()
  vim.api.nvim_win_set_cursor(0, { asked_at.last, 0 })
end

--- Whether a call succeeded; if it ran a program, the program must have ended without an error.
local function went_well(ok, exit_code, data)
  return ok and (known(exit_code) or 0) == 0 and not (data and data.passed == false)
end

-- The codes of calls whose program ran until it was stopped.
local RAN = { timed_out = true, stopped = true }

local DRAWN = {
  run_started = function(event)
    if known(event.sent_to) then add({ 'sent to ' .. event.sent_to }, 'RemitAsk') end
  end,
  intent_selected = function(event) add({ ('[%s]'):format(event.intent) }, 'RemitIntent') end,
  tool_call = function(event)
    local about = event.arguments.path or event.arguments.command or event.arguments.work
    add({ ('→ %s %s'):format(event.tool, type(about) == 'string' and about:gsub('\n', ' ') or '') }, 'RemitTool')
  end,
  tool_output = function(event)
    local row = M.say(event.text, 'RemitHint')
    repeats.note_printed(buffer, row, #split(event.text), event.tool_call_id)
  end,
  command_waits = function(event) M.say(event.means, 'RemitHint') end,
  process_changed = function(event) M.say(event.means, 'RemitHint') end,
  tool_result = function(event)
    local rule = event.rules[1] and (' (%s)'):format(table.concat(event.rules, ', ')) or ''
    local well = went_well(event.ok, event.exit_code, event.data)
    local text = ('%s %s%s'):format(well and '✓' or '✗', event.summary, rule)
    local row = M.say(text, well and 'RemitHint' or 'RemitError')
    if known(event.error) and not RAN[event.error.code] then
      repeats.note_failed(buffer, row, #split(text), event.summary, ('%s✗ not done%s'):format(behind, rule))
    end
  end,
  approval_required = function(event)
    draw_question(event)
    vim.notify('Remit asks: ' .. event.title, vim.log.levels.WARN)
  end,
  approval_resolved = function(event)
    asked_at, marks = nil, {}
    unset_answers()
    add(split(answers.words(event)), 'RemitHint')
  end,
  state_changed = function(event)
    if event.mode ~= 'explore' then add(split(event.means), 'RemitHint') end
  end,
  review_resolved = function(event)
    add({ ('%d accepted, %d left out'):format(event.accepted, event.rejected) }, 'RemitHint')
  end,
  token_delta = function(event) stream(event.text) end,
  warning = function(event) M.say(event.message, 'RemitAsk') end,
}

--- Draws one event of a turn.
function M.draw(event)
  local draw = DRAWN[event.kind]
  if event.kind ~= 'token_delta' then streaming = nil end
  behind = known(event.sub_agent) and event.kind ~= 'approval_required' and BEHIND or ''
  if draw then draw(event) end
  behind = ''
end

local function replace(row, count, lines)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, row, row + count, false, lines)
  vim.bo[buffer].modifiable = false
  for at = row, row + #lines - 1 do vim.api.nvim_buf_add_highlight(buffer, space, 'RemitError', at, 0, -1) end
end

local MADE = { created = ' (new)', deleted = ' (deleted)' }

--- Draws how a turn ended: the files that it changed, why not everything was done, and what a yes would do.
function M.ended(result)
  streaming = nil
  withdraw_yes()
  local problem, answer, changes = known(result.error), known(result.final_output) or '', result.changes or {}
  local ending = known(result.reason) or (problem and ('%s: %s'):format(problem.what, problem.why)) or ''
  repeats.tell_once(ready(), answer, ending, replace)
  local reason = repeats.reason_left(known(result.reason), answer)
  for _, change in ipairs(changes) do
    local lines = known(change.added) and (' +%d −%d'):format(change.added, change.removed) or ''
    local from = known(change.moved_from) and change.moved_from .. ' → ' or ''
    add({ ('  %s%s%s%s'):format(from, change.path, lines, MADE[change.how] or '') }, 'RemitHint')
  end
  local command = known(result.taken_back_by)
  if #changes > 0 and command then add({ ('  :Remit %s takes it back'):format(command) }, 'RemitHint') end
  if problem then return M.say(server.describe_problem({ data = problem, message = problem.message }), 'RemitError') end
  if result.status ~= 'completed' or known(result.reason) then
    local word = result.status == 'completed' and 'not all done' or result.status:gsub('_', ' ')
    add(split(('%s%s'):format(word, reason and ': ' .. reason or '')), 'RemitAsk')
    if known(result.suggestion) then offer_yes() end
  elseif #changes == 0 and result.tool_trace then
    local calls = #result.tool_trace
    add({ ('completed · %d call%s, no file changed'):format(calls, calls == 1 and '' or 's') }, 'RemitHint')
  end
end

local REPLAYED = {
  user = function(record)
    if record.origin == 'person' then M.asked(record.content) end
  end,
  assistant = function(record)
    if record.content ~= '' then M.say(record.content) end
  end,
  intent = function(record) add({ ('[%s]'):format(record.intent) }, 'RemitIntent') end,
  tool_call = function(record)
    if record.name == 'select_active_intent' then return end
    behind = known(record.parent) and BEHIND or ''
    DRAWN.tool_call({ tool = record.name, arguments = record.arguments })
    behind = ''
  end,
  tool_result = function(record)
    local well = went_well(record.success, record.exit_code)
    if record.name ~= 'select_active_intent' then M.say(well and '✓' or '✗', well and 'RemitHint' or 'RemitError') end
  end,
  approval = function(record) add(split(('%s · %s'):format(answers.words(record), record.title)), 'RemitHint') end,
  warning = function(record) M.say(record.message, 'RemitAsk') end,
  turn_end = function(record) M.ended(record) end,
}

--- Draws one record of a stored session. Nothing is run again.
function M.replay(record)
  local draw = REPLAYED[record.type]
  if draw then draw(record) end
end

return M
