-- The main job in a Neovim without Remit's plugin: only with its own LSP client (editor.md, any other LSP client).
-- Environment: REMIT_SERVER, REMIT_PROMPT, REMIT_CHOICE (the answer's title), REMIT_REPORT (a JSON file to write).

local report = { asked = {}, shown = {}, progress = {} }
local file = vim.fn.expand("%:p")
local buffer = vim.api.nvim_get_current_buf()

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n") .. "\n"
end

-- Answer here, because nobody can press a key in a headless Neovim. Everything else is the editor's own.
vim.lsp.handlers["window/showMessageRequest"] = function(_, params)
  local titles = vim.tbl_map(function(action) return action.title end, params.actions)
  report.before_answer = text()
  table.insert(report.asked, { message = params.message, titles = titles })
  for _, action in ipairs(params.actions) do
    if action.title == vim.env.REMIT_CHOICE then
      return action
    end
  end
  return vim.NIL
end
vim.lsp.handlers["window/showMessage"] = function(_, params)
  table.insert(report.shown, params.message)
end
vim.lsp.handlers["$/progress"] = function(_, params)
  table.insert(report.progress, params.value.kind)
end

local function run()
  local id = vim.lsp.start_client({
    name = "remit",
    cmd = { vim.env.REMIT_SERVER, "serve" },
    root_dir = vim.fn.getcwd(),
    on_exit = function(code) report.server_code = code end,
  })
  vim.lsp.buf_attach_client(buffer, id)
  local client = vim.lsp.get_client_by_id(id)
  assert(vim.wait(60000, function() return client.initialized end, 20), "the server did not answer `initialize`")

  local params = { command = "remit.ask", arguments = { vim.env.REMIT_PROMPT } }
  local answer, why = client.request_sync("workspace/executeCommand", params, 240000, buffer)
  assert(answer, why)
  report.result, report.error = answer.result, answer.err
  report.buffer = text()
  report.modified = vim.bo[buffer].modified
  vim.cmd("silent write")

  client.stop()
  assert(vim.wait(30000, function() return report.server_code ~= nil end, 20), "the server did not end")
end

local good, why = pcall(run)
if not good then
  report.failure = tostring(why)
end
report.messages = vim.fn.execute("messages")
vim.fn.writefile({ vim.fn.json_encode(report) }, vim.env.REMIT_REPORT)
vim.cmd(good and "qa!" or "cq")
