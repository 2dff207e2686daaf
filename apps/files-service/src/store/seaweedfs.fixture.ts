import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import http, { type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { eventually, freePort } from '@leadwire/test-kit'

/**
 * The path of the SeaweedFS server that the global set-up of the specs found or built. Undefined if there is
 * none.
 */
export const seaweedfsBinary: string | undefined = process.env['LEADWIRE_TEST_SEAWEEDFS']

/** The reason why the global set-up has found and built no SeaweedFS server. */
export const whyNoSeaweedfs: string = process.env['LEADWIRE_TEST_NO_SEAWEEDFS'] ?? ''

const KEYS = { accessKey: 'leadwire', secretKey: 'leadwire-on-loopback' }

const ports = async (...names: string[]) =>
  Promise.all(names.map(async (name) => `-${name}=${await freePort()}`))

/**
 * Starts a SeaweedFS server with an S3 interface that stores its data in `directory`, without a bucket. The
 * server has the same URL after a restart.
 */
export const startSeaweedfs = async (binary: string, directory: string) => {
  await mkdir(directory, { recursive: true })
  const config = join(directory, 's3.json')
  const identity = { name: 'files-service', credentials: [KEYS], actions: ['Admin', 'Read', 'Write', 'List'] }
  await writeFile(config, JSON.stringify({ identities: [identity] }))
  const s3Port = await freePort()
  const endpoint = new URL(`http://127.0.0.1:${s3Port}`)
  const args = [
    'server',
    `-dir=${directory}`,
    '-ip=127.0.0.1',
    '-s3',
    '-s3.port.iceberg=0',
    '-s3.port.lance=0',
    '-master.telemetry=false',
    `-s3.port=${s3Port}`,
    `-s3.config=${config}`,
    '-volume.max=0',
    '-master.volumeSizeLimitMB=64',
    ...(await ports('master.port', 'master.port.grpc', 'volume.port', 'volume.port.grpc')),
    ...(await ports('filer.port', 'filer.port.grpc', 's3.port.grpc')),
  ]
  const isServing = async () => {
    const request = http.request(new URL('/healthz', endpoint), { method: 'GET', agent: false })
    const [response] = (await once(request.end(), 'response')) as [IncomingMessage]
    if (response.resume().statusCode !== 200) throw new Error(`SeaweedFS responds ${response.statusCode}`)
  }
  const start = async () => {
    const started = spawn(binary, args, { stdio: 'ignore', cwd: directory })
    await eventually(isServing, { describe: 'waiting for SeaweedFS' })
    return started
  }
  const kill = async (child: ChildProcess) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  let running = await start()
  return {
    endpoint,
    ...KEYS,
    kill: () => kill(running),
    restart: async () => {
      await kill(running)
      running = await start()
    },
    stop: () => kill(running),
  }
}

export type Seaweedfs = Awaited<ReturnType<typeof startSeaweedfs>>
