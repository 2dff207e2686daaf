import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { FilledAccount } from '@leadwire/fill'
import type { Request } from 'autocannon'
import type { Context } from '../context'
import { type Load, load } from '../load/load'
import { startBaseline } from './baselines'
import { retrieveRequests } from './requests'
import { interleave } from './rounds'

const SIZE = 5 * 1024 * 1024
const CONNECTIONS = 32
// Enough for uploads to fall out of step: in the first wave all of them wait for the disk together.
const WAVES = 6

/** Attachments of 5 MiB, against a server that pipes the same bytes to a file. */
export const upload = async (context: Context): Promise<void> => {
  const { report, stack, options } = context
  const requests = await attachRequests(context, await context.quoted())
  const folder = join(context.folder, 'uploads')
  await mkdir(folder)
  const bare = await startBaseline(context, 'upload-to-file', { folder })

  const amount = CONNECTIONS * (options.quick ? 1 : WAVES)
  const run = (some: Pick<Load, 'port' | 'requests'>) => (seconds: number) =>
    load({ ...some, connections: CONNECTIONS, seconds, amount })
  const rounds = await interleave(context, {
    ours: run({ port: stack.port, requests }),
    // Neither's files are removed before the end: pages that were just given back are cheaper to write to than new ones.
    bare: run({ port: bare.port, requests: requests.map((request) => ({ ...request, path: '/upload' })) }),
  })
  await bare.stop()
  const megabytes = (list: { perSecond: number }[]) => list.map(({ perSecond }) => (perSecond * SIZE) / 1e6)
  report.ratio({
    what: 'upload 5 MiB / bare multipart to a file, MB a second',
    ours: megabytes(rounds.ours),
    baseline: megabytes(rounds.bare),
    ...{ unit: 'MB/s', better: 'more', floor: 0.5, aim: 0.8 },
  })
}

/** One request that attaches a file of 5 MiB to a lead of the account. */
export const attachRequests = async (context: Context, account: FilledAccount): Promise<Request[]> => {
  const [lead] = await retrieveRequests(context, account, 1)
  const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(SIZE - 8)])
  const form = new FormData()
  form.append('name', 'Survey')
  form.append('file', new Blob([png], { type: 'image/png' }), 'survey.png')
  const encoded = new Response(form)
  const headers = { ...lead!.headers, 'content-type': encoded.headers.get('content-type')! }
  const body = Buffer.from(await encoded.arrayBuffer())
  return [{ method: 'POST', path: `${lead!.path}/attachments`, headers, body }]
}
