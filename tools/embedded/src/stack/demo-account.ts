import { AccountsServiceDefinition } from '@leadwire/contracts'
import { connectGrpc, createLifecycle, createLogger, watchTls } from '@leadwire/service-kit'
import { readJson, writeJson } from '../process/replace-file'
import type { ServicesTls } from '../tls/tls-files'
import { tlsSettings } from './services'

export type Account = { id: number; api_key: string }
export type NewAccount = { account: Account; token: string }

/** What later starts must know of the demo account; the secrets in it are shown once, by who made them. */
export type Demo = NewAccount & { webhooks: Endpoint[] }

/** What `--webhook-url` registered; the one asked for last is last. */
export type Endpoint = { id: number; url: string; secret: string }

/** Makes an account and its first token (scopes leads and manage) at a leads-service; of `kept`, where it is there, only a token. */
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
    if (!account) throw new Error('leads-service answered without the account')
    return { account: { id: Number(account.id), api_key: account.apiKey }, token: secret }
  } finally {
    await lifecycle.stop()
  }
}

/** The demo account: kept in a file, and made at the first start, or when the database knows the kept one no more. */
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
  /** What services show each other. */
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
  const answer = await fetch(`${base}/leads/statuses`, { headers: { authorization: `Bearer ${token}` } })
  await answer.body?.cancel()
  return answer.status !== 401
}
