import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { findChromium, openTab, startChromium, type Tab } from '../../support/chromium'
import { openLink } from '../../support/console'
import { joinStage, LEAD, type SharedStage, type Tenant } from '../../support/stage'

const chromium = findChromium()
const suite = chromium ? describe : describe.skip
if (!chromium)
  console.warn(
    'SKIPPED: the specs of foreign pages. No Chromium was found: set CHROMIUM_BIN, or put it on PATH.',
  )

/** An address that browsers do not trust as they trust 127.0.0.1: they send no Sec-Fetch-Site to it. */
const PLAIN_HTTP = 'http://leadwire.example'

type Attempt = [name: string, path: string, init: object]

/** A request that a page of another origin cannot send without a preflight. */
const json = (method: string, body: object) => ({
  method,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

const FORM = 'application/x-www-form-urlencoded'

/** A request that a page of another origin can send without a preflight. */
const form = (fields: Record<string, string>) => ({
  method: 'POST',
  headers: { 'content-type': FORM },
  body: new URLSearchParams(fields).toString(),
})

suite('a foreign page in the browser of a person who has signed in', () => {
  let stage: SharedStage
  let browser: Browser
  let site: Server
  let tenant: Tenant
  let tab: Tab
  let admin: { id: number; email: string }
  beforeAll(async () => {
    site = createServer((_, response) => {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>A foreign page</title>')
    })
    await new Promise<void>((done) => site.listen(0, '127.0.0.1', done))
    stage = await joinStage({ env: { PUBLIC_URL: PLAIN_HTTP } })
    const { host } = new URL(stage.system.baseUrl)
    const names = `MAP leadwire.example:80 ${host}, MAP *.example 127.0.0.1`
    browser = await startChromium(chromium!, [`--host-resolver-rules=${names}`])
  })
  afterAll(async () => {
    await browser?.close()
    await stage?.stop()
    site.close()
  })
  beforeEach(async () => {
    tenant = await stage.newTenant()
    admin = await tenant.newUser('admin', { email: `admin-${tenant.account.id}@example.com` })
    await tenant.createLead()
    tab = await openTab(browser)
  })
  afterEach(() => tab.close())

  /** Signs the admin in at an address of the API. */
  const signIn = async (api: string) => {
    await openLink(tab.page, `${api}/console#sign-in=${await tenant.newSignInLink(admin.id)}`)
    await tab.page.getByRole('button', { name: 'Sign out' }).waitFor()
  }

  /** Lists requests that read or change the account if the API accepts them. */
  const listAttempts = (): Attempt[] => {
    const eve = { name: 'Eve', email: `eve-${tenant.account.id}@example.com`, role: 'admin' }
    const { id, email } = admin
    return [
      ['a read', '/leads', {}],
      ['a lead as a form', '/leads', form(LEAD)],
      ['a user as JSON', '/manage/users', json('POST', eve)],
      ['a change', '/manage/account', json('PATCH', { contact_email: eve.email })],
      ['a sign-in link as a form', '/sign-in-links', form({ email })],
      ['a sign-in link as JSON', '/sign-in-links', json('POST', { email })],
      ['the end of all sessions', `/manage/users/${id}/sessions`, { method: 'DELETE' }],
    ]
  }

  /** Sends requests from a page with the cookies of the browser. Returns the statuses that the page can read. */
  const sendAll = (page: Page, api: string, mode: 'cors' | 'no-cors') =>
    page.evaluate<[name: string, status: number | undefined][]>(`(async () => {
      const read = []
      for (const [name, path, init] of ${JSON.stringify(listAttempts())}) {
        const options = { ...init, credentials: 'include', mode: '${mode}' }
        const response = await fetch('${api}' + path, options).catch(() => undefined)
        read.push([name, response?.type === 'opaque' ? undefined : response?.status])
      }
      return read
    })()`)

  /** Records the responses to requests of a page, even if the page cannot read them. */
  const recordResponses = async (page: Page, api: string) => {
    const devTools = await page.context().newCDPSession(page)
    const requests = new Map<string, string>()
    const statuses: [id: string, status: number][] = []
    devTools.on('Network.requestWillBeSent', ({ requestId, request: { method, url } }) => {
      if (url.startsWith(`${api}/`)) requests.set(requestId, `${method} ${new URL(url).pathname}`)
    })
    devTools.on('Network.responseReceivedExtraInfo', ({ requestId, statusCode }) => {
      statuses.push([requestId, statusCode])
    })
    await devTools.send('Network.enable')
    return () =>
      statuses
        .filter(([id]) => requests.has(id))
        .map(([id, status]) => ({ request: requests.get(id)!, status }))
  }

  /** Adds an element to a page. Returns the event that reports whether the element could be loaded. */
  const addElement = (page: Page, name: string, src: string) =>
    page.evaluate<'load' | 'error'>(`new Promise((resolve) => {
      const element = document.createElement('${name}')
      element.onload = element.onerror = ({ type }) => resolve(type)
      element.src = '${src}'
      document.body.append(element)
    })`)

  /** Submits a form with a lead. The response replaces the page. */
  const submitForm = async (page: Page, api: string, enctype: string) => {
    const action = `${api}/leads`
    const shown = Promise.all([page.waitForResponse(action), page.waitForURL(action)])
    await page.evaluate(`{
      const form = document.createElement('form')
      Object.assign(form, ${JSON.stringify({ method: 'POST', action, enctype })})
      for (const [name, value] of Object.entries(${JSON.stringify(LEAD)}))
        form.append(Object.assign(document.createElement('input'), { name, value }))
      document.body.append(form)
      HTMLFormElement.prototype.submit.call(form)
    }`)
    const [response] = await shown
    return response.status()
  }

  /** Opens a page of the API in a window. Returns what the opener can read of this window. */
  const readWindow = async (page: Page, url: string) => {
    const opened = page.context().waitForEvent('page')
    await page.evaluate(`void (window.opened = window.open('${url}'))`)
    await (await opened).getByRole('button', { name: 'Sign out' }).waitFor()
    return page.evaluate<string>(
      `(() => { try { return window.opened.document.title } catch { return 'nothing' } })()`,
    )
  }

  const readState = async () => {
    const list = (path: string) => tenant.send<{ id: number; subject?: string }[]>('GET', path)
    const listIds = async (path: string) => (await list(path)).map(({ id }) => id)
    const notifications = await list('/manage/notifications')
    return {
      account: await tenant.send('GET', '/manage/account'),
      leads: await listIds('/leads'),
      users: await listIds('/manage/users'),
      changes: await listIds('/manage/audit'),
      sessions: await listIds(`/manage/users/${admin.id}/sessions`),
      requestedLinks: notifications.filter(({ subject }) => subject === 'sign_in'),
    }
  }

  test('the console can send these requests', async () => {
    const { baseUrl } = stage.system
    await signIn(baseUrl)
    const read = await sendAll(tab.page, baseUrl, 'cors')
    expect(read.map(([, status]) => status)).toEqual([200, 200, 200, 200, 202, 202, 200])
  })

  // A browser sends the cookie of the session with all requests between pages of one site, so the API has to
  // refuse them (403). With requests between two sites a browser sends the cookie only if the user follows a
  // link, so the API sees no session (401).
  const PLACES: [place: string, apiUrl: () => string, siteHost: string, status: number][] = [
    ['on another port of the host', () => stage.system.baseUrl, '127.0.0.1', 403],
    ['of another site', () => stage.system.baseUrl, 'localhost', 401],
    ['on another host of the site, over plain http', () => PLAIN_HTTP, 'evil.leadwire.example', 403],
    ['of another site, over plain http', () => PLAIN_HTTP, 'evil.example', 401],
  ]
  test.each(PLACES)('%s reads nothing and changes nothing', async (_, apiUrl, siteHost, status) => {
    const api = apiUrl()
    const foreignPage = `http://${siteHost}:${(site.address() as AddressInfo).port}/`
    await signIn(api)
    const before = await readState()
    const page = await tab.page.context().newPage()
    const listResponses = await recordResponses(page, api)

    await page.goto(foreignPage)
    for (const mode of ['cors', 'no-cors'] as const)
      for (const [name, read] of await sendAll(page, api, mode))
        expect([mode, name, read]).toEqual([mode, name, undefined])
    await page.evaluate(`navigator.sendBeacon('${api}/leads', new URLSearchParams(${JSON.stringify(LEAD)}))`)
    for (const element of ['img', 'script'])
      expect([element, await addElement(page, element, `${api}/manage/users`)]).toEqual([element, 'error'])
    // A frame fires `load` even if the browser has refused to show the page.
    await addElement(page, 'iframe', `${api}/console`)
    expect(page.frames().map((frame) => frame.url())).toEqual([foreignPage, 'chrome-error://chromewebdata/'])
    expect(await readWindow(page, `${api}/console`)).toBe('nothing')
    for (const enctype of [FORM, 'multipart/form-data', 'text/plain']) {
      expect([enctype, await submitForm(page, api, enctype)]).toEqual([enctype, status])
      await page.goto(foreignPage)
    }

    const accepted = listResponses().filter((response) => response.status < 400)
    // Over plain http, the API cannot tell that a GET comes from a foreign page. The page cannot read the
    // response.
    const reads = api === PLAIN_HTTP && status === 403 ? ['GET /leads', 'GET /manage/users'] : []
    expect(new Set(accepted.map(({ request }) => request))).toEqual(new Set(['GET /console', ...reads]))
    expect(await readState()).toEqual(before)
  })
})
