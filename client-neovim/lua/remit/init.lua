-- Remit for Neovim. `require('remit').setup()` is needed only for settings that are not in `vim.g.remit`.
local M = {}

---@param options remit.Config|nil
function M.setup(options) require('remit.config').set(options) end

--- Returns the text for a status line.
---@return string
function M.status()
  if not package.loaded['remit.turn'] then return '' end
  return require('remit.turn').status()
end

return M
