import { eventually, type IdentityProvider, prepareIdentityProvider, signInAt } from '@leadwire/test-kit'
import { SCREENS, violations } from '../../support/axe'
import { findChromium, openTab, startChromium } from '../../support/chromium'
import type { RequestOptions } from '../../support/client'
import { readCookie, type Stage, startStage, type Tenant } from '../../support/stage'

// A new stage creates its first account with this id.
const FIRST_ACCOUNT = 1

// In the browser, the first person signs in.
const PEOPLE = {
  grace: { email: 'grace@example.com', email_verified: true, name: 'Grace Hopper' },
  ada: { email: 'ada@example.com', email_verified: true, name: 'Ada Lovelace' },
  new: { email: 'new@example.com', email_verified: true, name: 'New Colleague', groups: ['all', 'sales'] },
  guest: { email: 'guest@example.com', email_verified: true, name: 'Guest', groups: ['all'] },
}

let provider: IdentityProvider
let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  const redirectUris = () => [`${stage.system.baseUrl}/sign-in/oidc/callback`]
  provider = await prepareIdentityProvider({ people: PEOPLE, redirectUris })
  const newUsers = { OIDC_ROLE_CLAIM: 'groups', OIDC_ROLES: 'sales=sales,admins=admin' }
  const env = { ...provider.settings, ...newUsers, OIDC_CREATE_USERS: String(FIRST_ACCOUNT) }
  stage = await startStage({ env: { ...env, LOG_LEVEL: 'debug' } })
  expect(stage.system.account.id).toBe(FIRST_ACCOUNT)
  await provider.start()
})
beforeEach(async () => {
  tenant = await stage.newTenant()
})
afterAll(async () => {
  await stage?.stop()
  await provider.stop()
})

/** Sends a request without a token. */
const ask = <T>(method: string, path: string, options: RequestOptions = {}) =>
  tenant.client.request<{ data: T }>(method, path, { token: '', ...options })

/** Signs in with the provider, as the button on the sign-in page does. */
const signIn = async (person: string) => {
  const { json } = await ask<{ oidc: { url: string } }>('GET', '/sign-in-methods')
  const started = await ask('GET', json.data.oidc.url)
  const headers = { cookie: readCookie(started.headers['set-cookie']) }
  const callback = await signInAt(String(started.headers['location']), person)
  const finished = await ask('GET', callback.href, { headers })
  const [console, fragment = ''] = String(finished.headers['location']).split('#')
  expect([finished.status, console]).toEqual([303, `${stage.system.baseUrl}/console`])
  const browser = [finished.headers['set-cookie']].flat().find((cookie) => cookie?.includes('-browser-'))
  return { callback, fragment, browser: browser?.split(';')[0] ?? '' }
}

/** Opens a link as the console does. */
const openLink = (secret: string, cookie = '') =>
  ask<{ email: string; role: string; account: { id: number } }>('POST', '/sessions', {
    token: secret,
    headers: { 'sec-fetch-site': 'same-origin', cookie },
  })

test('a user signs in, in the browser that was at the provider', async () => {
  const user = await tenant.newUser('viewer', { email: PEOPLE.ada.email.toUpperCase() })
  const { fragment, browser } = await signIn('ada')
  const [, secret = ''] = /^sign-in=(lw_sso_[\w-]+)&now$/.exec(fragment) ?? []
  expect((await openLink(secret)).status).toBe(403)
  const opened = await openLink(secret, browser)
  expect(opened).toMatchObject({ status: 200, json: { data: { id: user.id, role: 'viewer' } } })
  const cookie = readCookie([opened.headers['set-cookie']].flat().find((one) => one?.includes('-session-')))
  expect((await ask('GET', '/me', { headers: { cookie } })).json.data).toMatchObject({ id: user.id })
  await tenant.send('DELETE', `/manage/users/${user.id}`)
})

test('a user of several accounts chooses one', async () => {
  const second = await stage.newTenant()
  for (const each of [tenant, second]) await each.newUser('sales', { email: PEOPLE.ada.email })
  const { fragment, browser } = await signIn('ada')
  const choices: { account: string; secret: string }[] = JSON.parse(
    decodeURIComponent(fragment.replace('choose=', '')),
  )
  expect(choices.map(({ account }) => account)).toEqual(['Spec', 'Spec'])
  const opened = await openLink(choices[1]!.secret, browser)
  expect(opened.json.data.account.id).toBe(second.account.id)
})

test('a new colleague becomes a user with the role of the group, and others stay outside', async () => {
  const { fragment, browser } = await signIn('new')
  const opened = await openLink(/^sign-in=(.+)&now$/.exec(fragment)![1]!, browser)
  const { email } = PEOPLE.new
  expect(opened.json.data).toMatchObject({ email, role: 'sales', account: { id: FIRST_ACCOUNT } })
  expect((await signIn('guest')).fragment).toBe('sign-in-failed=unknown')
})

test('the log has no secret and no personal data of a sign-in', async () => {
  const { callback, fragment } = await signIn('new')
  await signIn('guest')
  const replayed = await ask('GET', callback.href)
  expect(replayed.headers['location']).toMatch(/#sign-in-failed=failed$/)
  const text = await eventually(() => {
    const lines = stage.system.logs()
    const refused = lines.filter(({ msg }) => msg === 'could not sign a person in')
    expect(refused.map(({ level, reason }) => `${level} ${reason}`)).toContain('warn failed')
    return JSON.stringify(lines)
  })
  const secrets = [...callback.searchParams.values()].filter((value) => !value.startsWith('http'))
  expect(secrets).toHaveLength(2)
  for (const trace of [...secrets, fragment.slice(8), provider.settings.OIDC_CLIENT_SECRET, '@example.com'])
    expect(text).not.toContain(trace)
})

const chromium = findChromium()
if (!chromium) console.warn('SKIPPED: the specs of single sign-on in the console. No Chromium was found.')
const suite = chromium ? describe : describe.skip

suite('in the console', () => {
  /** Runs a test in a new browser. Fails if the browser reports an error other than a 401. */
  const inBrowser = async (test: (tab: Awaited<ReturnType<typeof openTab>>) => Promise<void>) => {
    const browser = await startChromium(chromium!)
    try {
      const tab = await openTab(browser)
      await test(tab)
      expect(tab.complaints.filter((text) => !text.includes('401 (Unauthorized)'))).toEqual([])
    } finally {
      await browser.close()
    }
  }
  const consoleUrl = (path = '') => `${stage.system.baseUrl}/console${path}`

  test('the button signs in and returns to the page', () =>
    inBrowser(async ({ page }) => {
      const user = await tenant.newUser('support', { email: PEOPLE.grace.email, name: 'Grace, in support' })
      await page.goto(consoleUrl('/endpoints?from=a-colleague'))
      await page.getByRole('link', { name: 'Single sign-on' }).waitFor()
      for (const { width, colorScheme } of SCREENS) {
        await page.setViewportSize({ width, height: 800 })
        await page.emulateMedia({ colorScheme })
        expect(await violations(page)).toEqual([])
      }
      // On a narrow screen, the name of the user is in the drawer.
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.getByRole('link', { name: 'Single sign-on' }).click()
      await page.getByRole('heading', { level: 1, name: 'Endpoints' }).waitFor()
      await page.getByRole('link', { name: 'Grace, in support' }).waitFor()
      expect(page.url()).toBe(consoleUrl('/endpoints?from=a-colleague'))
      await tenant.send('DELETE', `/manage/users/${user.id}`)
    }))

  test('a user of several accounts chooses one', () =>
    inBrowser(async ({ page }) => {
      const { email } = PEOPLE.grace
      await tenant.newUser('viewer', { email, name: 'Grace, the viewer' })
      const second = await stage.newTenant()
      await second.newUser('sales', { email, name: 'Grace, in sales' })
      await page.goto(consoleUrl())
      await page.getByRole('link', { name: 'Single sign-on' }).click()
      await page.getByRole('heading', { level: 1, name: 'Choose an account' }).waitFor()
      expect(await violations(page)).toEqual([])
      await page.getByRole('button', { name: 'Spec' }).last().click()
      await page.getByRole('link', { name: 'Grace, in sales' }).waitFor()
    }))

  test('a failure has a reason, and nobody is signed in by the link of another person', () =>
    inBrowser(async ({ page }) => {
      await page.goto(consoleUrl('#sign-in-failed=unverified'))
      await page.getByText('has not confirmed your e-mail address').waitFor()
      await page.goto(consoleUrl('#sign-in-failed=<b>'))
      await page.getByText('The sign-in with the identity provider failed.').waitFor()

      const { id } = await tenant.newUser('admin')
      const secret = await tenant.newSignInLink(id)
      await page.goto(consoleUrl(`#sign-in=${secret}&now`))
      await page.getByText('You opened a sign-in link.').waitFor()
      const choices = encodeURIComponent(JSON.stringify([{ account: 'Mine', secret }]))
      await page.goto(consoleUrl(`#choose=${choices}`))
      await page.getByText('The sign-in with the identity provider failed.').waitFor()
      const { data } = await tenant.client
        .request<{ data: unknown[] }>('GET', `/manage/users/${id}/sessions`)
        .then(({ json }) => json)
      expect(data).toEqual([])
    }))
})
