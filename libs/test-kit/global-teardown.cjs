const { rm } = require('node:fs/promises')

module.exports = async () => {
  const { server, directory } = globalThis.leadwireSpecs
  await server.stop()
  await rm(directory, { recursive: true, force: true })
}
