-- `:Remit` runs a subcommand if its argument is a word of `M.WORDS`, and else sends it as a line of the chat (NVI-03).
local server = require('remit.server')
local turn = require('remit.turn')

local M = {}

--- Runs the server's code action of this kind at the cursor, or for the lines of the range.
local function task(kind)
  return function(given)
    local cursor = vim.api.nvim_win_get_cursor(0)
    local first, last = { line = cursor[1] - 1, character = cursor[2] }, nil
    if given.range > 0 then
      first, last = { line = given.line1 - 1, character = 0 }, { line = given.line2, character = 0 }
    end
    local shown = {}
    for _, each in ipairs(vim.diagnostic.get(0)) do
      if each.lnum >= first.line and each.lnum <= (last or first).line then
        local start = { line = each.lnum, character = each.col }
        table.insert(shown, { range = { start = start, ['end'] = start }, message = each.message })
      end
    end
    local params = {
      textDocument = { uri = vim.uri_from_bufnr(0) },
      range = { start = first, ['end'] = last or first },
      context = { only = { kind }, diagnostics = shown },
    }
    server.request('textDocument/codeAction', params, function(problem, found)
      if problem then return vim.notify(problem, vim.log.levels.ERROR) end
      local action = (found or {})[1]
      if not action then return vim.notify('nothing to do here, or the model cannot do it', vim.log.levels.WARN) end
      turn.ask(action.command.arguments[1].text)
    end)
  end
end

--- Asks for an edit of the lines of the range, which are attached to the message (LSP-13).
local function edit_lines(words, given)
  local name, folder = vim.api.nvim_buf_get_name(0), nil
  folder = server.folder_of(name)
  if name:sub(1, #folder + 1) ~= folder .. '/' then
    return vim.notify('this file is not in the folder that Remit works in', vim.log.levels.WARN)
  end
  local lines = vim.api.nvim_buf_get_lines(0, given.line1 - 1, given.line2, false)
  local first, last = { line = given.line1 - 1, character = 0 }, { line = given.line2 - 1, character = 0 }
  turn.ask(words, { {
    type = 'selection', path = name:sub(#folder + 2), range = { start = first, ['end'] = last }, text = table.concat(lines, '\n'),
  } })
end

local function choose_session()
  server.execute('remit.session.list', {}, function(problem, found)
    if problem then return vim.notify(problem, vim.log.levels.ERROR) end
    if #found == 0 then return vim.notify('this folder has no sessions yet') end
    local function format(each)
      local used, name = each.last_used:sub(1, 16):gsub('T', ' '), server.known(each.name) or each.title
      return ('%s  %s  %d turn%s'):format(used, name, each.turns, each.turns == 1 and '' or 's')
    end
    vim.ui.select(found, { prompt = 'Session', format_item = format }, function(chosen)
      if not chosen then return end
      require('remit.chat').open()
      turn.load(chosen.session_id)
    end)
  end)
end

--- Has the server try a model and keep it, and shows the result (MOD-27).
local function use_model(reference)
  vim.notify(('trying one step with %s …'):format(reference))
  server.execute('remit.model.use', { reference = reference }, function(problem, found)
    if problem then return vim.notify(problem, vim.log.levels.ERROR) end
    local fix = server.known(found.problem) and ('\n' .. found.problem.fix) or ''
    vim.notify(found.said .. fix, found.kept and vim.log.levels.INFO or vim.log.levels.ERROR)
  end)
end

--- Lets the person choose a model that the server has found, or name one (MOD-26).
local function choose_model()
  server.execute('remit.model.list', {}, function(problem, found)
    if problem then return vim.notify(problem, vim.log.levels.ERROR) end
    table.insert(found, { reference = '', about = 'name another one: ollama:NAME, openai:NAME@http://127.0.0.1:8080/v1 …' })
    local function format(each)
      local to = server.known(each.sent_to)
      return ('%s%s  %s%s'):format(each.configured and '* ' or '', each.reference, server.known(each.problem) or each.about, to and (', sent to ' .. to) or '')
    end
    vim.ui.select(found, { prompt = 'Model', format_item = format }, function(chosen)
      if not chosen then return end
      if chosen.whole then return use_model(chosen.reference) end
      vim.ui.input({ prompt = 'Model: ', default = chosen.reference }, function(typed)
        if typed and typed ~= '' then use_model(typed) end
      end)
    end)
  end)
end

M.WORDS = {
  model = choose_model,
  open = function() require('remit.chat').open() end,
  new = function()
    turn.session = nil
    require('remit.chat').clear()
    turn.ask('/new')
  end,
  stop = turn.stop,
  undo = function() turn.ask('/undo') end,
  redo = function() turn.ask('/redo') end,
  review = function() require('remit.chat').show_question() end,
  deny = function() turn.answer('deny') end,
  next = function() require('remit.review').jump(1) end,
  previous = function() require('remit.review').jump(-1) end,
  leave = function() require('remit.review').toggle_here() end,
  comment = function() require('remit.review').comment_here() end,
  fix = task('quickfix.remit'),
  explain = task('refactor.remit.explain'),
  refactor = task('refactor.rewrite.remit.refactor'),
  document = task('refactor.rewrite.remit.document'),
  tests = task('refactor.remit.tests'),
  sessions = choose_session,
  audit = function() require('remit.audit').open() end,
  denied = function() require('remit.audit').open('denied') end,
  verify = function()
    server.request('workspace/executeCommand', { command = 'remit.audit.verify' }, function(problem, found)
      vim.notify(problem or found.message, (problem or not found.ok) and vim.log.levels.ERROR or vim.log.levels.INFO)
    end)
  end,
  log = function() vim.cmd('edit ' .. vim.fn.fnameescape(vim.lsp.get_log_path())) end,
}

function M.run(given)
  local line = vim.trim(given.args)
  if line == '' then return require('remit.chat').prompt() end
  local act = M.WORDS[line]
  if act then return act(given) end
  local words = given.range > 0 and line:match('^edit%s+(.+)$')
  if words then return edit_lines(words, given) end
  turn.ask(line)
end

--- The completions for the end of the line.
function M.complete(lead, line)
  local text = line:gsub('^%S*%s+', '')
  local found = {}
  if not text:find('%s') then
    for word in pairs(M.WORDS) do
      if vim.startswith(word, lead) then table.insert(found, word) end
    end
    table.sort(found)
  end
  if not server.client() or text == '' then return found end
  local params = { command = 'remit.chat.complete', arguments = { vim.tbl_extend('keep', { text = text }, server.place()) } }
  local answer = vim.lsp.buf_request_sync(0, 'workspace/executeCommand', params, 2000) or {}
  for _, each in pairs(answer) do
    for _, proposal in ipairs(type(each.result) == 'table' and each.result or {}) do
      local kept = text:sub(#text - #lead + 1, vim.str_byteindex(text, proposal.start, true))
      table.insert(found, kept .. proposal.text)
    end
  end
  return found
end

return M
