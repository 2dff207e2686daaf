import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Child,
  findMinio,
  freePort,
  minioStore,
  type ObjectStore,
  startMinioServer,
} from '@leadwire/embedded'
import { type Hardship, hardship, thaw } from './hardship'
import { watchProcess } from './watch-process'

/** `hardship` is undefined if MinIO runs in a container. */
export type TestMinio = { store: ObjectStore; hardship?: Hardship; stop(): Promise<void> }

const image = 'minio/minio:RELEASE.2025-09-07T16-13-09Z'

/**
 * Starts a real MinIO without a bucket. Uses a program on this machine. Without a program, uses a container
 * if a Docker engine responds, or else builds a program with Go. A build takes minutes, so give the hook that
 * calls this function a long timeout. A program keeps its data in `folder`, or in a temporary folder.
 * Resolves with MinIO, or with the reason why it cannot be started.
 */
export async function startMinio({
  folder,
}: {
  folder?: string | undefined
} = {}): Promise<TestMinio | { reason: string }> {
  const refusals: string[] = []
  for (const start of [() => fromProgram(false, folder), fromContainer, () => fromProgram(true, folder)]) {
    try {
      return await start()
    } catch (error) {
      refusals.push(error instanceof Error ? error.message : String(error))
    }
  }
  return { reason: `no MinIO: ${refusals.slice(1).join('; ')}` }
}

async function fromProgram(build: boolean, folder: string | undefined): Promise<TestMinio> {
  const binary = await findMinio(process.env, { build, say: (line) => console.error(line) })
  const directory = folder ?? (await mkdtemp(join(tmpdir(), 'leadwire-minio-')))
  const port = await freePort()
  let server: Child
  const start = async () => {
    server = watchProcess(await startMinioServer({ binary, directory, port }))
  }
  await start()
  const stop = async () => {
    await thaw(server)
    await server.stop()
    if (!folder) await rm(directory, { recursive: true, force: true })
  }
  return { store: minioStore(port), hardship: hardship({ start, current: () => server }), stop }
}

async function fromContainer(): Promise<TestMinio> {
  // Imported only when needed, because loading testcontainers takes longer than most spec files take to run.
  const { GenericContainer, Wait } = await import('testcontainers')
  const { accessKey, secretKey } = minioStore(0)
  const container = await new GenericContainer(image)
    .withCommand(['server', '/data'])
    .withEnvironment({ MINIO_ROOT_USER: accessKey, MINIO_ROOT_PASSWORD: secretKey })
    .withExposedPorts(9000)
    .withWaitStrategy(Wait.forHttp('/minio/health/ready', 9000))
    .start()
  const endpoint = `http://${container.getHost()}:${container.getMappedPort(9000)}`
  const store = { ...minioStore(0), endpoint }
  return { store, stop: async () => void (await container.stop()) }
}
