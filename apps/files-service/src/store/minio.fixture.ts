import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { eventually, freePort } from '@leadwire/test-kit'

/**
 * The path of the MinIO server that the global set-up of the specs found or built. Undefined if there is
 * none.
 */
export const minioBinary: string | undefined = process.env['LEADWIRE_TEST_MINIO']

/** The reason why the global set-up has found and built no MinIO server. */
export const whyNoMinio: string = process.env['LEADWIRE_TEST_NO_MINIO'] ?? ''

const stop = async (child: ChildProcess, signal: NodeJS.Signals) => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}

/**
 * Expects that SIGSTOP has stopped every thread of a process. Call this function until it succeeds, because
 * the threads stop one after another. Expects nothing on systems without /proc.
 */
const expectStopped = async (pid: number) => {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => [])
  for (const task of tasks) {
    const stat = await readFile(`/proc/${pid}/task/${task}/stat`, 'utf8')
    expect(stat.slice(stat.lastIndexOf(')') + 2)).toMatch(/^T/)
  }
}

/**
 * Starts a MinIO server that stores its data in `directory`, without a bucket. The server has the same URL
 * after a kill and a restart. With `tls`, the server speaks https and uses `public.crt` and `private.key` in
 * `certsDirectory`.
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
        const [response] = (await once(request.end(), 'response')) as [IncomingMessage]
        if (response.resume().statusCode !== 200) throw new Error(`MinIO responds ${response.statusCode}`)
      },
      { describe: 'waiting for MinIO' },
    )
    return child
  }
  let child = await start()
  return {
    endpoint,
    ...keys,
    /** Freezes the server until `resume`: connections stay open and get no response. */
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
