import { AccountsServiceDefinition } from '@leadwire/contracts'
import { connectGrpc, createLifecycle, createLogger, watchTls } from '@leadwire/service-kit'
import { readJson, writeJson } from '../process/replace-file'
import type { ServicesTls } from '../tls/tls-files'
import { tlsSettings } from './services'

export type Account = { id: number; api_key: string }
export type NewAccount = { account: Account; token: string }

/** The stored demo account. Its secrets must be stored, because they are shown only once. */
export type Demo = NewAccount & { webhooks: Endpoint[] }

/** An endpoint that `--webhook-url` registered. The latest `--webhook-url` is the last in `Demo.webhooks`. */
export type Endpoint = { id: number; url: string; secret: string }

/**
 * Creates an account with a first token (scopes leads and manage). If `kept` still exists, creates only a
 * token for it.
 */
export async function createAccount(
  { grpc, tokens, tls: files }: { grpc: string; tokens: string[]; tls?: ServicesTls | undefined },
  name: string,
  kept?: Account,
): Promise<NewAccount> {
  const logger = createLogger({ service: 'leadwire', level: 'silent' })
  const lifecycle = createLifecycle(logger)
  const tls = files && watchTls(tlsSettings(files), { lifecycle, logger })
  try {
    const accounts = connectGrpc(grpc, { lifecycle, tokens, tls }).client(AccountsServiceDefinition, {
      deadlineMs: 10_000,
    })
    if (kept && (await accounts.listAccounts({})).accounts.some(({ apiKey }) => apiKey === kept.api_key)) {
      const fields = { accountId: kept.id, name: 'npm start', scopes: ['leads', 'manage'] }
      return { account: kept, token: (await accounts.createToken(fields)).secret }
    }
    const { account, secret } = await accounts.createAccount({ name })
    if (!account) throw new Error('the response of leads-service has no account')
    return { account: { id: Number(account.id), api_key: account.apiKey }, token: secret }
  } finally {
    await lifecycle.stop()
  }
}

/**
 * Returns the demo account, which is stored in a file. Creates it at the first start, or if the database has
 * lost it.
 */
export async function ensureDemoAccount({
  path,
  grpc,
  tokens,
  tls,
  base,
  say,
}: {
  path: string
  grpc: string
  /** The service token, as a list of one element. */
  tokens: string[]
  tls: ServicesTls | undefined
  base: string
  say: (line: string) => void
}): Promise<Demo> {
  const kept = await readJson<Demo>(path, say)
  if (kept && (await isKnown(kept.token, base))) return kept
  const made = await createAccount({ grpc, tokens, tls }, 'Demo', kept?.account)
  const demo: Demo = { ...made, webhooks: made.account === kept?.account ? kept.webhooks : [] }
  await writeJson(path, demo)
  return demo
}

async function isKnown(token: string, base: string): Promise<boolean> {
  const response = await fetch(`${base}/leads/statuses`, { headers: { authorization: `Bearer ${token}` } })
  await response.body?.cancel()
  return response.status !== 401
}
