const { readFile, rm } = require('node:fs/promises')

module.exports = async () => {
  const { server, directory, shared, door } = globalThis.leadwireSpecs
  await new Promise((resolve) => door.close(resolve).closeAllConnections())
  for (const system of await Promise.allSettled(Object.values(shared))) await system.value?.stop()
  await server.stop()
  const leaked = await listLeakedProcesses()
  await rm(directory, { recursive: true, force: true })
  if (leaked.length > 0) {
    throw new Error(
      `Stop in afterAll what a spec file starts. These still ran at its end:\n${leaked.join('\n')}`,
    )
  }
}

/** Returns a line for each process that a spec file started and did not stop (watch-process.ts). */
async function listLeakedProcesses() {
  const log = await readFile(process.env.LEADWIRE_TEST_PROCESSES, 'utf8').catch(() => '')
  const running = new Map()
  for (const line of log.split('\n').filter(Boolean)) {
    const { event, name, pid, file } = JSON.parse(line)
    if (event === 'started') running.set(pid, `${name} (pid ${pid}) of ${file}`)
    else running.delete(pid)
  }
  return [...running.values()]
}
