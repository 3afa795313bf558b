-- Starts `remit serve` and talks to it through Neovim's own LSP client, from version 0.7 on.
local config = require('remit.config')

local M = {}
local STARTED_MS = 20000
local starting = nil -- the client that was started last, used only in Neovim 0.7

--- Returns nil for a JSON null, and any other value as it is.
function M.known(value)
  if value == vim.NIL then return nil end
  return value
end

function M.client()
  for _, each in pairs((vim.lsp.get_clients or vim.lsp.get_active_clients)()) do
    if each.name == 'remit' and not (each.is_stopped and (vim.fn.has('nvim-0.11') == 1 and each:is_stopped() or false)) then
      return each
    end
  end
end

local function on_progress(problem, params, ...)
  local token = params and params.token
  if type(token) == 'string' and token:find('^remit%-nvim%-') then return require('remit.turn').take(params.value) end
  local standard = vim.lsp.handlers['$/progress']
  if standard then return standard(problem, params, ...) end
end

--- Turns completion on in policy and configuration files, which newer versions of Neovim do by themselves (NVI-06).
local function complete_own_files(_, buffer)
  if vim.bo[buffer].filetype == 'yaml' and vim.bo[buffer].omnifunc == '' then
    vim.bo[buffer].omnifunc = 'v:lua.vim.lsp.omnifunc'
  end
end

--- Returns the configuration of Neovim's LSP client for the server.
---@return table
function M.describe()
  local settings = config.get()
  local remit = { approvals = 'stream', client_commands = { 'remit.client.rename', 'remit.client.ask' } }
  remit.trusted = settings.trusted
  local described = {
    name = 'remit',
    cmd = settings.cmd,
    root_dir = vim.fn.getcwd(),
    init_options = { remit = remit },
    handlers = { ['$/progress'] = on_progress },
    on_attach = complete_own_files,
    on_exit = function()
      starting = nil
      vim.schedule(function() require('remit.turn').lost() end)
    end,
  }
  if settings.inline_completion then require('remit.ghost').enable(described) end
  return described
end

vim.lsp.commands['remit.client.ask'] = function(command) require('remit.turn').ask(command.arguments[1].text) end
vim.lsp.commands['remit.client.rename'] = function(command)
  local target = command.arguments[1]
  vim.ui.input({ prompt = ('Rename %s to: '):format(target.name) }, function(name)
    if name and name ~= '' then require('remit.turn').ask(('rename %s to %s in %s'):format(target.name, name, target.path)) end
  end)
end

--- Attaches the server to a buffer, and starts the server if it does not run.
---@return boolean|nil whether the server was attached
function M.attach(buffer)
  if vim.bo[buffer].buftype ~= '' or vim.api.nvim_buf_get_name(buffer) == '' or not config.get().auto then return end
  if vim.fn.executable(config.get().cmd[1]) == 0 then return end -- `:checkhealth remit` reports this.
  if vim.lsp.start then
    vim.lsp.start(M.describe(), { bufnr = buffer })
  else -- In Neovim 0.7 a client is not in the list before the server has answered.
    starting = starting or vim.lsp.start_client(M.describe())
    vim.lsp.buf_attach_client(buffer, starting)
  end
  return true
end

--- Returns the client of the server. If the server has ended, it is started again once for the open files (NVI-07).
local function ready()
  if M.client() then return M.client() end
  local shown = false
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    shown = vim.api.nvim_buf_is_loaded(buffer) and M.attach(buffer) or shown
  end
  if shown then vim.wait(STARTED_MS, function() return M.client() ~= nil end, 20) end
  return M.client()
end

--- Sends a request. `done(problem, result)` gets a problem as text. Returns false if there is no server.
function M.request(method, params, done)
  local server, buffer = ready(), vim.api.nvim_get_current_buf()
  if not server then
    vim.notify('Remit is not running here: open a file of the project, or see :checkhealth remit', vim.log.levels.WARN)
    return false
  end
  local function answered(problem, result)
    if problem and not done then vim.notify(M.describe_problem(problem), vim.log.levels.ERROR) end
    if done then done(problem and M.describe_problem(problem), M.known(result)) end
  end
  if vim.fn.has('nvim-0.11') == 1 then
    server:request(method, params, answered, buffer)
  else
    server.request(method, params, answered, buffer)
  end
  return true
end

--- Runs a command of the server with one argument, about the file of the current buffer.
function M.execute(command, argument, done)
  local about = vim.tbl_extend('keep', argument or {}, M.place())
  return M.request('workspace/executeCommand', { command = command, arguments = { about } }, done)
end

--- The file of the current buffer, or if it has none the folder that Neovim was started in.
function M.place()
  local name = vim.api.nvim_buf_get_name(0)
  if vim.bo.buftype == '' and name ~= '' then return { uri = vim.uri_from_bufnr(0) } end
  return { workspace_folder = M.folder_of('') }
end

--- The workspace folder that contains a file, the innermost of several; the first folder if none contains it.
function M.folder_of(name)
  local server, found = M.client(), nil
  for _, folder in ipairs(vim.lsp.buf.list_workspace_folders()) do
    if name:sub(1, #folder + 1) == folder .. '/' and (not found or #folder > #found) then found = folder end
  end
  return found or (server and server.config.root_dir) or vim.fn.getcwd()
end

function M.describe_problem(problem)
  local data = M.known(problem.data)
  if type(data) == 'table' and data.what then return ('%s: %s (%s)'):format(data.what, data.why, data.fix) end
  return problem.message
end

return M
