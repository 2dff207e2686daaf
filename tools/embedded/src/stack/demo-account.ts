import { type AccountsServiceClient, AccountsServiceDefinition } from '@leadwire/contracts'
import { connectGrpc, createLifecycle, createLogger, ServiceError, watchTls } from '@leadwire/service-kit'
import { readJson, writeJson } from '../process/replace-file'
import type { ServicesTls } from '../tls/tls-files'
import { tlsSettings } from './services'

export type Account = { id: number; api_key: string }
export type NewAccount = { account: Account; token: string }

/**
 * The stored demo account. Its secrets must be stored, because they are shown only once. `admin_id` is the
 * user who signs in with the link that each start prints.
 */
export type Demo = NewAccount & { webhooks: Endpoint[]; admin_id?: number }

/** An endpoint that `--webhook-url` registered. The latest `--webhook-url` is the last in `Demo.webhooks`. */
export type Endpoint = { id: number; url: string; secret: string }

interface LeadsServiceAddress {
  grpc: string
  /** The service token, as a list of one element. */
  tokens: string[]
  tls?: ServicesTls | undefined
}

/** Connects to leads-service for the time of `work`. */
async function withAccounts<Result>(
  { grpc, tokens, tls: files }: LeadsServiceAddress,
  work: (accounts: AccountsServiceClient) => Promise<Result>,
): Promise<Result> {
  const logger = createLogger({ service: 'leadwire', level: 'silent' })
  const lifecycle = createLifecycle(logger)
  const tls = files && watchTls(tlsSettings(files), { lifecycle, logger })
  try {
    const connection = connectGrpc(grpc, { lifecycle, tokens, tls })
    return await work(connection.client(AccountsServiceDefinition, { deadlineMs: 10_000 }))
  } finally {
    await lifecycle.stop()
  }
}

/**
 * Creates an account with a first token (scopes leads and manage). If `kept` still exists, creates only a
 * token for it.
 */
export function createAccount(
  address: LeadsServiceAddress,
  name: string,
  kept?: Account,
): Promise<NewAccount> {
  return withAccounts(address, async (accounts) => {
    if (kept && (await accounts.listAccounts({})).accounts.some(({ apiKey }) => apiKey === kept.api_key)) {
      const fields = { accountId: kept.id, name: 'npm start', scopes: ['leads', 'manage'] }
      return { account: kept, token: (await accounts.createToken(fields)).secret }
    }
    const { account, secret } = await accounts.createAccount({ name })
    if (!account) throw new Error('the response of leads-service has no account')
    return { account: { id: Number(account.id), api_key: account.apiKey }, token: secret }
  })
}

/** Creates a link with which a user signs in to the console at `consoleUrl`. */
export function createSignInLink(
  address: LeadsServiceAddress,
  link: { accountId: number; userId: number; consoleUrl: string; minutes?: number },
): Promise<string> {
  return withAccounts(address, async (accounts) => (await accounts.createSignInLink(link)).url)
}

const ADMIN = { email: 'admin@example.com', name: 'Demo Admin', role: 'admin' }
const LINK_MINUTES = 12 * 60

/**
 * Creates a link with which the admin of the demo account signs in, and the admin at the first start. Returns
 * no link if the admin was removed or has no role any more.
 */
export async function createDemoLink(
  address: LeadsServiceAddress,
  { demo, path, consoleUrl }: { demo: Demo; path: string; consoleUrl: string },
): Promise<string | undefined> {
  const accountId = demo.account.id
  if (demo.admin_id === undefined) {
    const { user } = await withAccounts(address, (accounts) => accounts.createUser({ accountId, ...ADMIN }))
    demo.admin_id = user!.id
    await writeJson(path, demo)
  }
  const link = { accountId, userId: demo.admin_id, consoleUrl, minutes: LINK_MINUTES }
  return createSignInLink(address, link).catch((error: unknown) => {
    if (error instanceof ServiceError && error.code === 'invalid') return undefined
    throw error
  })
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
  const isKept = made.account === kept?.account
  const demo: Demo = isKept ? { ...kept!, ...made } : { ...made, webhooks: [] }
  await writeJson(path, demo)
  return demo
}

async function isKnown(token: string, base: string): Promise<boolean> {
  const response = await fetch(`${base}/leads/statuses`, { headers: { authorization: `Bearer ${token}` } })
  await response.body?.cancel()
  return response.status !== 401
}
