import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import multipart from '@fastify/multipart'
import { fastify } from 'fastify'
import { readSettings, reportReady } from '../process/report-ready'
import { listen } from './listen'

type Settings = { folder: string }

/** Pipes the file of a multipart request to the disk, without checks, fsync or a record of the file. */
async function start({ folder }: Settings): Promise<void> {
  const app = fastify()
  await app.register(multipart, { limits: { fileSize: 10_485_760 } })
  app.post('/upload', async (request) => {
    const part = await request.file()
    const path = join(folder, randomUUID())
    await pipeline(part!.file, createWriteStream(path))
    return { path }
  })
  reportReady({ port: await listen(app) })
}

void start(readSettings<Settings>())
