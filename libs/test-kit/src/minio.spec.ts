import { startMinio } from './minio'

// Where MinIO can't be had, the suites that need it say so; here only what it does when it can.
test('a MinIO, or the reason why there is none', async () => {
  const minio = await startMinio()
  if ('reason' in minio) {
    expect(minio.reason).toMatch(/^no MinIO: /)
    return
  }
  try {
    expect((await fetch(`${minio.store.endpoint}/minio/health/live`)).status).toBe(200)
  } finally {
    await minio.stop()
  }
}, 900_000)
