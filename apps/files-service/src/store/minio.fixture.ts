import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { eventually, freePort } from '@leadwire/test-kit'

/** MinIO's server, as the run's set-up found or built it; undefined when it could not be had. */
export const minioBinary: string | undefined = process.env['LEADWIRE_TEST_MINIO']

/** Why there is no server. */
export const whyNoMinio: string = process.env['LEADWIRE_TEST_NO_MINIO'] ?? ''

const stop = async (child: ChildProcess, signal: NodeJS.Signals) => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}

/** A signal is sent before it takes effect, in each thread by itself. Where there is no /proc nothing is known. */
const expectStopped = async (pid: number) => {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => [])
  for (const task of tasks) {
    const stat = await readFile(`/proc/${pid}/task/${task}/stat`, 'utf8')
    expect(stat.slice(stat.lastIndexOf(')') + 2)).toMatch(/^T/)
  }
}

/**
 * A MinIO over `directory`, without a bucket; it can be killed and started again at the same address. With `tls` it speaks https,
 * with `public.crt` and `private.key` of a folder.
 */
export const startMinio = async (
  binary: string,
  directory: string,
  tls?: { certsDirectory: string; ca: string },
  env?: Record<string, string>,
) => {
  const address = `127.0.0.1:${await freePort()}`
  const endpoint = new URL(`${tls ? 'https' : 'http'}://${address}`)
  const keys = { accessKey: 'leadwire', secretKey: 'leadwire-on-loopback' }
  const certs = tls ? ['--certs-dir', tls.certsDirectory] : []
  const start = async () => {
    const child = spawn(binary, ['server', directory, '--address', address, '--quiet', ...certs], {
      stdio: 'ignore',
      env: {
        ...process.env,
        MINIO_ROOT_USER: keys.accessKey,
        MINIO_ROOT_PASSWORD: keys.secretKey,
        MINIO_BROWSER: 'off',
        MINIO_UPDATE: 'off',
        ...env,
      },
    })
    await eventually(
      async () => {
        const url = new URL('/minio/health/ready', endpoint)
        const request = (tls ? https : http).request(url, { method: 'HEAD', ...(tls && { ca: tls.ca }) })
        const [answer] = (await once(request.end(), 'response')) as [IncomingMessage]
        if (answer.resume().statusCode !== 200) throw new Error(`MinIO answers ${answer.statusCode}`)
      },
      { describe: 'waiting for MinIO' },
    )
    return child
  }
  let child = await start()
  return {
    endpoint,
    ...keys,
    /** Stops its breath, until `resume`: connections stay, nothing is answered. */
    suspend: async () => {
      child.kill('SIGSTOP')
      await eventually(() => expectStopped(child.pid!))
    },
    resume: () => child.kill('SIGCONT'),
    kill: () => stop(child, 'SIGKILL'),
    restart: async () => {
      await stop(child, 'SIGKILL')
      child = await start()
    },
    stop: () => stop(child, 'SIGTERM'),
  }
}

export type Minio = Awaited<ReturnType<typeof startMinio>>
