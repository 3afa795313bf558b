-- The person's settings, from `vim.g.remit` and `require('remit').setup()`. The latter have priority.
local M = {}

---@class remit.Config
---@field cmd string[] the server's command line
---@field trusted boolean|nil whether folders that are opened here are trusted; if nil, the server asks once for each
---@field width number the most columns of the chat
---@field auto boolean whether files are shown to the server when they are opened
---@field inline_completion boolean whether the model completes at the cursor; needs Neovim 0.10
local DEFAULTS = { cmd = { 'remit', 'serve' }, width = 72, auto = true, inline_completion = false }
local KINDS = { cmd = 'table', trusted = 'boolean', width = 'number', auto = 'boolean', inline_completion = 'boolean' }

local given = {}

---@param options table|nil
function M.set(options) given = options or {} end

---@return remit.Config
function M.get()
  local all = vim.tbl_extend('force', DEFAULTS, vim.g.remit or {}, given)
  for name, value in pairs(all) do
    if KINDS[name] == nil then error(('remit: there is no setting `%s`; see :help remit-settings'):format(name), 0) end
    if type(value) ~= KINDS[name] then error(('remit: the setting `%s` must be a %s'):format(name, KINDS[name]), 0) end
  end
  return all
end

return M
