import { mkdir } from 'node:fs/promises'
import { type Child, startChild, whenReady } from '../process/child'
import { freePort } from '../process/free-port'

export type MinioOptions = {
  binary: string
  directory: string
  port: number
  onLine?: (line: string) => void
}

export type ObjectStore = {
  endpoint: string
  accessKey: string
  secretKey: string
  region: string
  bucket: string
}

/** Where a MinIO of ours is and how to enter it. It listens on loopback alone; the keys keep no secret. */
export function minioStore(port: number): ObjectStore {
  return {
    endpoint: `http://127.0.0.1:${port}`,
    accessKey: 'leadwire',
    secretKey: 'leadwire-on-loopback',
    region: 'us-east-1',
    bucket: 'leadwire',
  }
}

/** Starts MinIO; answers when it has a pid, before it serves (see minioReady). */
export async function spawnMinio({ binary, directory, port, onLine }: MinioOptions): Promise<Child> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const { accessKey, secretKey } = minioStore(port)
  const console = `127.0.0.1:${await freePort()}`
  return startChild({
    name: 'minio',
    command: binary,
    args: ['server', directory, '--address', `127.0.0.1:${port}`, '--console-address', console, '--quiet'],
    cwd: directory,
    env: { ...process.env, MINIO_ROOT_USER: accessKey, MINIO_ROOT_PASSWORD: secretKey, MINIO_UPDATE: 'off' },
    onLine,
  })
}

/** Starts it, waits until it serves, and makes the bucket. */
export async function startMinioServer(options: MinioOptions): Promise<Child & { store: ObjectStore }> {
  const child = await spawnMinio(options)
  const store = minioStore(options.port)
  try {
    await whenReady(child, () => minioReady(options.port), { timeoutMs: 60_000 })
    await ensureBucket(store)
  } catch (error) {
    await child.stop()
    throw error
  }
  return { ...child, store }
}

export async function minioReady(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/minio/health/ready`, {
    signal: AbortSignal.timeout(3000),
  })
  await answer.body?.cancel()
  return answer.ok
}

/** Makes the bucket unless there is one. */
export async function ensureBucket({
  endpoint,
  accessKey,
  secretKey,
  region,
  bucket,
}: ObjectStore): Promise<void> {
  // Loaded when it is needed: every spec and every start would else wait for a client that few use.
  const { Client } = await import('minio')
  const { hostname, port, protocol } = new URL(endpoint)
  const client = new Client({
    endPoint: hostname,
    port: Number(port),
    useSSL: protocol === 'https:',
    accessKey,
    secretKey,
    region,
  })
  if (!(await client.bucketExists(bucket))) await client.makeBucket(bucket, region)
}
