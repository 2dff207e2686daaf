import { mkdir, readFile } from 'node:fs/promises'
import { Agent, request } from 'undici'
import { type Child, startChild, whenReady } from '../process/child'
import { freePort } from '../process/free-port'

export type MinioOptions = {
  binary: string
  directory: string
  port: number
  tls?: MinioTls | undefined
  /** All servers of the cluster, including this one. */
  cluster?: { port: number; directory: string }[] | undefined
  /** A lock over the data. The server inherits it, so that the lock lasts as long as the server runs. */
  lock?: { fd: number } | undefined
  onLine?: (line: string) => void
}

/**
 * `certsDirectory` has the files `public.crt` and `private.key`. `caFile` is the certificate of the authority
 * that issued `public.crt`.
 */
export type MinioTls = { certsDirectory: string; caFile: string }

export type ObjectStore = {
  endpoint: string
  accessKey: string
  secretKey: string
  region: string
  bucket: string
  /** The file with the authorities that issue the certificate of an https endpoint. */
  caFile?: string | undefined
}

/**
 * Returns the URL and the keys of a MinIO of this stack. The keys are not secret, because MinIO listens only
 * on loopback.
 */
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

/** Starts MinIO. Resolves when the process has a pid, before it serves requests (see minioReady). */
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
      'server',
      ...folders,
      '--address',
      `127.0.0.1:${port}`,
      '--console-address',
      console,
      '--quiet',
      ...certs,
    ],
    cwd: directory,
    env: {
      ...process.env,
      MINIO_ROOT_USER: accessKey,
      MINIO_ROOT_PASSWORD: secretKey,
      MINIO_UPDATE: 'off',
      // MINIO_CI_CD makes MinIO accept a cluster on one machine, although all its folders are on the system
      // disk. _MINIO_SERVER_LOCAL names the server's own address, because in a container MinIO does not
      // recognise a loopback address as its own.
      ...(cluster && { MINIO_CI_CD: 'on', _MINIO_SERVER_LOCAL: `127.0.0.1:${port}` }),
    },
    lock,
    onLine,
  })
}

/** Starts MinIO and waits until it serves requests. */
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

/** Returns whether the server is ready. With `cluster`, returns whether the cluster can store files. */
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
