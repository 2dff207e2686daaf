const { rm } = require('node:fs/promises')

module.exports = async () => {
  const { server, directory, shared, door } = globalThis.leadwireSpecs
  await new Promise((resolve) => door.close(resolve).closeAllConnections())
  for (const system of await Promise.allSettled(Object.values(shared))) await system.value?.stop()
  await server.stop()
  await rm(directory, { recursive: true, force: true })
}
