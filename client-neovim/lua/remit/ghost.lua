-- Shows the model's completion as grey text after the cursor until it is accepted or a key is typed (LSP-12).
-- Needs Neovim 0.10, because earlier versions cannot draw text within a line.
local server = require('remit.server')

local M = { shown = nil }

local SPACE = vim.api.nvim_create_namespace('remit.ghost')
local METHOD = 'textDocument/inlineCompletion'
local PAUSE_MS = 150

local asked, turn = nil, 0

local function cancel()
  turn = turn + 1
  if asked and server.client() then server.client():cancel_request(asked) end
  asked = nil
end

--- Removes the shown text and cancels the request for a new one.
function M.clear()
  cancel()
  if M.shown and vim.api.nvim_buf_is_valid(M.shown.buffer) then
    vim.api.nvim_buf_clear_namespace(M.shown.buffer, SPACE, 0, -1)
  end
  M.shown = nil
end

local function draw(buffer, line, column, text)
  local lines = vim.split(text, '\n', { plain = true })
  local below = {}
  for number = 2, #lines do below[#below + 1] = { { lines[number], 'RemitGhost' } } end
  vim.api.nvim_set_hl(0, 'RemitGhost', { link = 'NonText', default = true })
  vim.api.nvim_buf_set_extmark(buffer, SPACE, line, column, {
    virt_text = { { lines[1], 'RemitGhost' } }, virt_text_pos = 'inline', virt_lines = below,
  })
  M.shown = { buffer = buffer, line = line, column = column, lines = lines }
end

local function ask()
  local client, buffer = server.client(), vim.api.nvim_get_current_buf()
  if not client or not vim.lsp.buf_is_attached(buffer, client.id) or vim.fn.mode():sub(1, 1) ~= 'i' then return end
  local mine, at = turn, vim.api.nvim_win_get_cursor(0)
  local _, character = vim.str_utfindex(vim.api.nvim_get_current_line(), at[2])
  local params = {
    textDocument = { uri = vim.uri_from_bufnr(buffer) },
    position = { line = at[1] - 1, character = character },
    context = { triggerKind = 2 },
  }
  local sent, id = client:request(METHOD, params, function(problem, found)
    if mine ~= turn then return end
    asked = nil
    local item = not problem and server.known(found) and found.items[1]
    if item then draw(buffer, at[1] - 1, at[2], item.insertText) end
  end, buffer)
  asked = sent and id or nil
end

local function typed()
  M.clear()
  local mine = turn
  vim.defer_fn(function()
    if mine == turn then ask() end
  end, PAUSE_MS)
end

--- Inserts the shown text into the buffer. Returns false if none is shown.
---@return boolean
function M.accept()
  local it = M.shown
  if not it or it.buffer ~= vim.api.nvim_get_current_buf() then return false end
  M.clear()
  vim.api.nvim_buf_set_text(it.buffer, it.line, it.column, it.line, it.column, it.lines)
  local last = it.lines[#it.lines]
  vim.api.nvim_win_set_cursor(0, { it.line + #it.lines, (#it.lines == 1 and it.column or 0) + #last })
  return true
end

--- Turns completion at the cursor on. `described` is the configuration of the LSP client, which gets what the server needs.
function M.enable(described)
  if vim.fn.has('nvim-0.10') == 0 then
    return vim.notify_once('remit: inline_completion needs Neovim 0.10', vim.log.levels.WARN)
  end
  described.cmd_env = { REMIT_INLINE_COMPLETION = 'on' }
  described.capabilities = vim.tbl_deep_extend('force', vim.lsp.protocol.make_client_capabilities(), {
    textDocument = { inlineCompletion = { dynamicRegistration = false } },
  })
  local group = vim.api.nvim_create_augroup('remit.ghost', {})
  vim.api.nvim_create_autocmd({ 'TextChangedI', 'InsertEnter' }, { group = group, callback = typed })
  vim.api.nvim_create_autocmd('CursorMovedI', {
    group = group,
    callback = function()
      local at = vim.api.nvim_win_get_cursor(0)
      if M.shown and (M.shown.line ~= at[1] - 1 or M.shown.column ~= at[2]) then M.clear() end
    end,
  })
  vim.api.nvim_create_autocmd({ 'InsertLeave', 'BufLeave' }, { group = group, callback = M.clear })
end

return M
