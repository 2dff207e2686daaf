import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join, resolve } from 'node:path'
import { eventually } from '@leadwire/test-kit'

const CACHE = process.env['LEADWIRE_CACHE'] ?? resolve(__dirname, '../../../../.cache')

const isProgram = (path: string) => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** MinIO's server: MINIO_BIN, PATH, or the project's cache, in that order; undefined when it is in none. */
export const minioBinary: string | undefined = [
  process.env['MINIO_BIN'],
  ...(process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'minio')),
  join(CACHE, 'bin', 'minio'),
].find((path) => path !== undefined && isProgram(path))

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

const stop = async (child: ChildProcess, signal: NodeJS.Signals) => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}

/** A MinIO over `directory`, without a bucket; it can be killed and started again at the same address. */
export const startMinio = async (binary: string, directory: string) => {
  const address = `127.0.0.1:${await freePort()}`
  const keys = { accessKey: 'leadwire', secretKey: 'leadwire-on-loopback' }
  const start = async () => {
    const child = spawn(binary, ['server', directory, '--address', address, '--quiet'], {
      stdio: 'ignore',
      env: {
        ...process.env,
        MINIO_ROOT_USER: keys.accessKey,
        MINIO_ROOT_PASSWORD: keys.secretKey,
        MINIO_BROWSER: 'off',
        MINIO_UPDATE: 'off',
      },
    })
    await eventually(
      async () => {
        const answer = await fetch(`http://${address}/minio/health/ready`)
        if (!answer.ok) throw new Error(`MinIO answers ${answer.status}`)
      },
      { timeoutMs: 20_000, describe: 'waiting for MinIO' },
    )
    return child
  }
  let child = await start()
  return {
    endpoint: new URL(`http://${address}`),
    ...keys,
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    kill: () => stop(child, 'SIGKILL'),
    restart: async () => {
      await stop(child, 'SIGKILL')
      child = await start()
    },
    stop: () => stop(child, 'SIGTERM'),
  }
}

export type Minio = Awaited<ReturnType<typeof startMinio>>
