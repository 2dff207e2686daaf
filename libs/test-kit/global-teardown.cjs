const { rm } = require('node:fs/promises')

module.exports = async () => {
  const { server, directory, shared, door } = globalThis.leadwireSpecs
  await new Promise((resolve) => door.close(resolve).closeAllConnections())
  const system = await shared.system?.catch(() => undefined)
  await system?.stop()
  await server.stop()
  await rm(directory, { recursive: true, force: true })
}
