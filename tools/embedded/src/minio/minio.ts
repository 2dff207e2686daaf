import { mkdir, readFile } from 'node:fs/promises'
import { Agent, request } from 'undici'
import { type Child, startChild, whenReady } from '../process/child'
import { freePort } from '../process/free-port'

export type MinioOptions = {
  binary: string
  directory: string
  port: number
  tls?: MinioTls | undefined
  /** Each server of a cluster, this one among them. */
  cluster?: { port: number; directory: string }[] | undefined
  /** A lock over the data, which lasts as long as the server too. */
  lock?: { fd: number } | undefined
  onLine?: (line: string) => void
}

/** A folder with `public.crt` and `private.key`, as MinIO wants them, and whom the certificate is checked by. */
export type MinioTls = { certsDirectory: string; caFile: string }

export type ObjectStore = {
  endpoint: string
  accessKey: string
  secretKey: string
  region: string
  bucket: string
  /** The authorities that vouch for an https endpoint. */
  caFile?: string | undefined
}

/** Where a MinIO of ours is and how to enter it. It listens on loopback alone; the keys keep no secret. */
export function minioStore(port: number, tls?: MinioTls | undefined): ObjectStore {
  return {
    endpoint: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    caFile: tls?.caFile,
    accessKey: 'leadwire',
    secretKey: 'leadwire-on-loopback',
    region: 'us-east-1',
    bucket: 'leadwire',
  }
}

/** Starts MinIO; answers when it has a pid, before it serves (see minioReady). */
export async function spawnMinio({
  binary,
  directory,
  port,
  tls,
  cluster,
  lock,
  onLine,
}: MinioOptions): Promise<Child> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const { accessKey, secretKey } = minioStore(port)
  const console = `127.0.0.1:${await freePort()}`
  const folders = cluster?.map((one) => `http://127.0.0.1:${one.port}${one.directory}`) ?? [directory]
  const certs = tls ? ['--certs-dir', tls.certsDirectory] : []
  return startChild({
    name: 'minio',
    command: binary,
    args: [
      ...['server', ...folders, '--address', `127.0.0.1:${port}`, '--console-address', console, '--quiet'],
      ...certs,
    ],
    cwd: directory,
    env: {
      ...process.env,
      ...{ MINIO_ROOT_USER: accessKey, MINIO_ROOT_PASSWORD: secretKey, MINIO_UPDATE: 'off' },
      // A cluster on one machine: its folders are on the disk of the system, and in a container MinIO takes no loopback address for
      // its own unless it is told.
      ...(cluster && { MINIO_CI_CD: 'on', _MINIO_SERVER_LOCAL: `127.0.0.1:${port}` }),
    },
    lock,
    onLine,
  })
}

/** Starts it and waits until it serves. */
export async function startMinioServer(options: MinioOptions): Promise<Child & { store: ObjectStore }> {
  const child = await spawnMinio(options)
  const store = minioStore(options.port, options.tls)
  try {
    await whenReady(child, () => minioReady(store), { timeoutMs: 60_000 })
  } catch (error) {
    await child.stop()
    throw error
  }
  return { ...child, store }
}

/** Whether a server answers; of a cluster, whether files can be written. */
export async function minioReady(
  { endpoint, caFile }: ObjectStore,
  what: 'ready' | 'cluster' = 'ready',
): Promise<boolean> {
  const agent = new Agent({ connect: { ...(caFile && { ca: await readFile(caFile) }) } })
  try {
    const { statusCode } = await request(`${endpoint}/minio/health/${what}`, {
      dispatcher: agent,
      signal: AbortSignal.timeout(3000),
    })
    return statusCode === 200
  } finally {
    await agent.destroy()
  }
}
