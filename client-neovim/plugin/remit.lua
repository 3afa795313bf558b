-- What Neovim loads at its start: one command, the `<Plug>` maps, and an autocommand that attaches each opened file.
-- Everything else is loaded with its first use (NVI-01).
if vim.g.loaded_remit or vim.fn.has('nvim-0.7') == 0 then return end
vim.g.loaded_remit = true

vim.api.nvim_create_user_command('Remit', function(given) require('remit.command').run(given) end, {
  nargs = '*',
  range = true,
  desc = 'Ask Remit, or do what :help :Remit lists',
  complete = function(lead, line) return require('remit.command').complete(lead, line) end,
})

local maps = {
  RemitOpen = function() require('remit.chat').open() end,
  RemitStop = function() require('remit.turn').stop() end,
  RemitNextHunk = function() require('remit.review').jump(1) end,
  RemitPreviousHunk = function() require('remit.review').jump(-1) end,
  RemitLeaveOut = function() require('remit.review').toggle_here() end,
  RemitComment = function() require('remit.review').comment_here() end,
  RemitReview = function() require('remit.chat').show_question() end,
  RemitDeny = function() require('remit.turn').answer('deny') end,
}
for name, act in pairs(maps) do
  vim.keymap.set('n', '<Plug>(' .. name .. ')', act, { desc = 'Remit: ' .. name })
end
vim.keymap.set('i', '<Plug>(RemitAccept)', function() require('remit.ghost').accept() end, { desc = 'Remit: RemitAccept' })

-- Attach a file that is read or new, and a buffer that gets a name.
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost' }, {
  group = vim.api.nvim_create_augroup('remit', {}),
  callback = function(event) require('remit.server').attach(event.buf) end,
})
