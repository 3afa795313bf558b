-- `:checkhealth remit` (NVI-05).
local M = {}

local health = vim.health or require('health')
local start = health.start or health.report_start
local ok = health.ok or health.report_ok
local warn = health.warn or health.report_warn
local error_ = health.error or health.report_error

function M.check()
  start('Remit')
  local settings_ok, settings = pcall(require('remit.config').get)
  if not settings_ok then return error_(settings, { ':help remit-settings' }) end
  local program = settings.cmd[1]
  if vim.fn.executable(program) == 0 then
    return error_(('there is no program `%s`'):format(program), { 'install it from its clone: `make setup`, or from its wheel: pipx install /path/to/remit-*.whl', 'or name it: vim.g.remit = { cmd = { "/path/to/remit", "serve" } }' })
  end
  ok(vim.trim(vim.fn.system({ program, '--version' })) .. ' at ' .. vim.fn.exepath(program))
  if require('remit.server').client() then
    ok('the server runs')
  else
    warn('the server is not running', { 'open a file of a project to start it' })
  end
  if vim.fn.has('nvim-0.7') == 1 then ok('this Neovim is new enough') end
end

return M
