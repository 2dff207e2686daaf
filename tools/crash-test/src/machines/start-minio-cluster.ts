import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { findMinio, freePort, minioReady, minioStore, spawnMinio, whenReady } from '@leadwire/embedded'
import type { Machine, Place } from './machine'
import { startAddress } from './start-address'

const SERVERS = 4

/**
 * Starts MinIO servers behind one address. MinIO spreads each file over all servers, and can read a file from
 * half of them.
 */
export const startMinioCluster = async ({ data, onLine, onStop }: Place) => {
  const binary = await findMinio(process.env)
  const cluster = await Promise.all(
    Array.from({ length: SERVERS }, async (_, index) => {
      const directory = join(data, `minio-${index + 1}`)
      await mkdir(directory, { recursive: true })
      return { port: await freePort(), directory }
    }),
  )
  const machines: Machine[] = await Promise.all(
    cluster.map(async (place, index) => {
      const child = await spawnMinio({ binary, ...place, cluster, onLine })
      onStop(child.stop)
      return { ...child, name: `minio-${index + 1}` }
    }),
  )
  const address = await startAddress(cluster.map(({ port }) => port))
  onStop(address.stop)
  const store = minioStore(address.port)
  const isWritable = () => minioReady(store, 'cluster')
  await whenReady(machines[0]!, isWritable, { timeoutMs: 180_000 })
  return { machines, store }
}
