-- The running turn: asks, streams it into the chat, answers its questions and stops it (NVI-04).
local server = require('remit.server')

local M = { session = nil, running = nil, question = nil, intent = nil, folder = nil, standing = nil }
local known = server.known
-- The command about the running turn, which is sent while that turn runs.
local BESIDE = '/background'

local function chat() return require('remit.chat') end

local function context()
  local name = vim.bo.buftype == '' and vim.api.nvim_buf_get_name(0) or ''
  local folder = server.folder_of(name)
  if name:sub(1, #folder + 1) ~= folder .. '/' then return { workspace_folder = folder } end
  local line, column = unpack(vim.api.nvim_win_get_cursor(0))
  local _, character = vim.str_utfindex(vim.api.nvim_get_current_line(), column)
  return {
    workspace_folder = folder,
    open_document = name:sub(#folder + 2),
    cursor = { line = line - 1, character = character },
  }
end

--- Adds the attachments to the first text part of an input.
local function with_attached(input, attached)
  for _, part in ipairs(attached and input or {}) do
    if part.type == 'text' then
      part.attachments = vim.list_extend(known(part.attachments) or {}, attached)
      break
    end
  end
  return input
end

--- Asks for the workflow standing of a session that the chat has just switched to.
local function look()
  M.standing = nil
  server.request('remit/status', { session_id = M.session }, function(problem, status)
    if not problem then M.standing = { mode = known(status.mode), state = known(status.state) } end
  end)
end

--- Sends a line of the chat: a message, a `/command` or a `!command`. `attached` are the attachments of a message.
function M.ask(line, attached)
  if M.running and vim.trim(line) ~= BESIDE then
    return vim.notify('Remit is still working on the last request; :Remit stop ends it', vim.log.levels.WARN)
  end
  local about = context()
  server.execute('remit.chat.read', { text = line, session_id = M.session }, function(problem, reply)
    chat().open_beside()
    chat().asked(line)
    if problem then return chat().say(problem, 'RemitError') end
    M.session = reply.session_id
    if reply.clears then
      chat().clear()
      look()
    end
    if reply.loads then M.load(reply.session_id) end
    if reply.text ~= '' then chat().say(reply.text) end
    if #reply.input > 0 then M.run(with_attached(reply.input, attached), known(reply.model), about) end
  end)
end

function M.run(input, model, about)
  local turn = ('%d-%d'):format(vim.loop.hrtime() / 1000, math.random(1000000))
  M.running, M.folder = turn, about.workspace_folder
  local request = {
    session_id = M.session, turn_id = turn, input = input, model = model, context = about,
    partialResultToken = 'remit-nvim-' .. turn,
  }
  local sent = server.request('remit/run', request, function(problem, result)
    M.running, M.question = nil, nil
    require('remit.review').clear()
    if problem then return chat().say(problem, 'RemitError') end
    chat().ended(result)
  end)
  if not sent then M.running = nil end
end

--- Handles one event of the turn.
function M.take(event)
  if event.kind == 'intent_selected' and not event.sub_agent then M.intent = event.intent end
  if event.kind == 'state_changed' then M.standing = event end
  if event.kind == 'approval_required' then
    M.question = { event = event, left_out = {} }
    require('remit.review').show(M.question)
  end
  if event.kind == 'approval_resolved' then
    M.question = nil
    require('remit.review').clear()
  end
  chat().draw(event)
end

--- Answers the waiting question; `comment` is for the model.
function M.answer(decision, scope, comment)
  local question = M.question
  if not question then return vim.notify('Remit is not asking anything', vim.log.levels.WARN) end
  local left_out = decision == 'allow' and question.left_out or {}
  local answer = {
    approval_id = question.event.approval_id, decision = decision, scope = scope or 'once', digest = question.event.digest,
    comment = comment, left_out = vim.tbl_isempty(left_out) and nil or left_out,
  }
  server.request('remit/approval/respond', answer, function(problem, receipt)
    if problem then return chat().say(problem, 'RemitError') end
    if not receipt.accepted then chat().say('not accepted: ' .. (known(receipt.reason) or ''), 'RemitError') end
  end)
end

--- Stops the turn. The server cannot stop a turn that it has not begun yet, so the request is repeated until the turn ends.
function M.stop()
  local turn = M.running
  if not turn then return vim.notify('Remit is not running anything') end
  local params = { command = 'remit.cancel', arguments = { { session_id = M.session, turn_id = turn } } }
  server.request('workspace/executeCommand', params, function(problem)
    if problem then return vim.notify(problem, vim.log.levels.ERROR) end
    vim.defer_fn(function()
      if M.running == turn then M.stop() end
    end, 500)
  end)
end

--- Shows a stored session.
function M.load(session)
  server.execute('remit.session.load', { session = session }, function(problem, found)
    if problem then return chat().say(problem, 'RemitError') end
    M.session = session
    chat().clear()
    look()
    for _, record in ipairs(found.records or {}) do chat().replay(record) end
  end)
end

--- Ends the turn in the chat, because the server is gone.
function M.lost()
  if M.running then chat().say('the server ended; :Remit log says more', 'RemitError') end
  M.running, M.question = nil, nil
  require('remit.review').clear()
end

--- The text for a status line, empty without a server. It names the workflow state unless the mode is `explore`.
function M.status()
  if not server.client() then return '' end
  local strict = M.standing and M.standing.mode ~= 'explore' and (' [%s: %s]'):format(M.standing.mode, M.standing.state) or ''
  if M.question then return 'Remit: asks' .. strict end
  if M.running then return 'Remit: ' .. (M.intent or 'running') .. strict end
  return 'Remit' .. strict
end

return M
