import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { FilledAccount } from '@leadwire/fill'
import type { Context } from '../context'
import type { HttpRequest } from '../load/http-request'
import { load } from '../load/load'
import { startBaseline } from './baselines'
import { buildFormRequest, buildRetrieveRequests } from './requests'
import { interleave } from './rounds'

const SIZE = 5 * 1024 * 1024
const CONNECTIONS = 32
// Several waves give a realistic figure. In the first wave all uploads wait for the disk at the same time. In
// later waves the uploads are out of step.
const WAVES = 6

/** Measures attachments of 5 MiB. Compares them with a server that pipes the same bytes to a file. */
export const measureUpload = async (context: Context): Promise<void> => {
  const { report, stack, options } = context
  const attach = await buildAttach(context, await context.getAccountWithQuotes())
  const folder = join(context.folder, 'uploads')
  await mkdir(folder)
  const bare = await startBaseline(context, 'upload-to-file', { folder })

  const amount = CONNECTIONS * (options.quick ? 1 : WAVES)
  const upload = (port: number, request: HttpRequest) => (seconds: number) =>
    load({ port, requests: [request], connections: CONNECTIONS, seconds, amount })
  // Keeps the uploaded files until the end of the run. Writing would be cheaper after a removal, because it
  // would reuse the memory pages of the removed files.
  const rounds = await interleave(context, {
    ours: upload(stack.port, attach),
    bare: upload(bare.port, { ...attach, path: '/upload' }),
  })
  await bare.stop()
  const toMegabytes = ({ perSecond }: { perSecond: number }) => (perSecond * SIZE) / 1e6
  report.addRatio({
    what: 'upload 5 MiB / bare multipart to a file, MB a second',
    ours: rounds.ours.map(toMegabytes),
    baseline: rounds.bare.map(toMegabytes),
    unit: 'MB/s',
    better: 'more',
    floor: 0.5,
    aim: 0.8,
  })
}

/** Builds a request that attaches a file of 5 MiB to a lead of the account. */
export const buildAttach = async (context: Context, account: FilledAccount): Promise<HttpRequest> => {
  const [retrieve] = await buildRetrieveRequests(context, account, 1)
  const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(SIZE - 8)])
  const form = new FormData()
  form.append('name', 'Survey')
  form.append('file', new Blob([png], { type: 'image/png' }), 'survey.png')
  return buildFormRequest(account, `${retrieve!.path}/attachments`, form)
}
