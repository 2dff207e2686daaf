import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context'
import { drawReferences } from '../data/seed-leads'
import type { RequestPlan } from '../load/jobs'
import { interleave, medianCpu } from '../measure/rounds'
import { ratioFigure } from '../report/figure'
import { startBaseline } from './start-baseline'

const SIZE = 5 * 1024 * 1024
const BOUNDARY = 'the-boundary-of-the-benchmark'
const CONNECTIONS = 64

/** Attachments of 5 MiB, against a server that pipes the same bytes to a file. */
export async function upload(context: Context): Promise<void> {
  const { report, stack, generator, leads, options } = context
  const account = await context.quoted()
  const [reference] = await drawReferences(leads, account, 1)
  const folder = join(context.folder, 'uploads')
  await mkdir(folder)
  const bare = await startBaseline(context, 'upload-to-file', { folder })

  const load = (port: number, path: string) => ({
    run: (seconds: number) =>
      generator.closedLoop({
        port,
        requests: [uploadRequest(path, account.token)],
        connections: CONNECTIONS,
        // Whole waves of the connections, so that none is cut at an end, and enough for uploads to fall out of step:
        // in the first wave all wait for the disk together. The clock only bounds a slow machine.
        seconds: seconds * 5,
        amount: options.quick ? CONNECTIONS : CONNECTIONS * 4,
      }),
  })
  const rounds = await interleave(context, {
    ours: load(stack.port, `/leads/${reference}/attachments`),
    // Neither's files are removed before the end: pages that were just given back are cheaper to write to than new ones.
    bare: { ...load(bare.port, '/upload'), pids: { baseline: bare.pid } },
  })
  await bare.stop()
  const megabytes = (list: { bytesSentPerSecond: number }[]) =>
    list.map((round) => round.bytesSentPerSecond / 1e6)
  report.figure(
    ratioFigure({
      what: 'attach 5 MiB / bare multipart to a file, MB a second',
      ours: megabytes(rounds.ours),
      baseline: megabytes(rounds.bare),
      unit: 'MB/s',
      ...{ better: 'more', floor: 0.5, aim: 0.8 },
    }),
  )
  report.cpu('Attach 5 MiB', medianCpu(rounds.ours))
  report.cpu('Attach 5 MiB, bare', medianCpu(rounds.bare))
}

export function uploadRequest(path: string, token: string): RequestPlan {
  const part = (head: string, content: Buffer | string) =>
    Buffer.concat([
      Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ])
  const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(SIZE - 8)])
  const body = Buffer.concat([
    part('name="name"', 'Survey'),
    part('name="file"; filename="survey.png"\r\nContent-Type: image/png', png),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ])
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
  }
  return { method: 'POST', path, headers, body }
}
