import { eventually } from '@leadwire/test-kit'
import type { Page } from 'playwright-core'
import { describeConsole, findParts, openLink } from '../support/console'
import { awaitLinkMail } from '../support/mail'
import { joinStage } from '../support/stage'

// The browser logs an error for each response with one of these statuses. A link that was used a moment ago
// gets 409, and later 401.
const UNAUTHORIZED = /401 \(Unauthorized\)/
const FORBIDDEN = /403 \(Forbidden\)/
const INVALID = /422 \(Unprocessable/

const LINK_USED = 'This link has expired or was used. Ask for a new one.'

describeConsole('people who sign in to the console', joinStage, (world) => {
  const { heading, openAs, openOtherBrowser } = world
  const { main, dialog, button, link, label, row, said, yes } = findParts(world)
  const get = <T = Record<string, unknown>>(path: string) => world.tenant.send<T>('GET', path)
  const list = <T = Record<string, unknown>>(path: string) => get<T[]>(path)
  const home = () => `${world.stage.system.baseUrl}/console`
  const newEmail = (name: string) => `${name}-${world.tenant.account.id}@example.com`
  const newUser = (role: string, name: string) =>
    world.tenant.newUser(role, { name, email: newEmail(name.split(' ')[0]!.toLowerCase()) })
  const awaitMail = (subject: 'sign_in' | 'invitation', email: string, count = 1) =>
    awaitLinkMail(world.stage.system, world.tenant, { subject, email, count })
  const headingOf = (page: Page, name: string) => page.getByRole('heading', { level: 1, name })
  const again = (page: Page) => page.getByRole('dialog').getByRole('heading', { name: 'Sign in again' })
  /** The change in the timeline of the lead. */
  const changed = (text: string) => main().getByRole('listitem').filter({ hasText: text })
  const nameOf = (page: Page, name: string) => page.getByRole('banner').getByRole('link', { name })
  const countSessions = async (userId: number) => (await list(`/manage/users/${userId}/sessions`)).length

  const requestLink = async (page: Page, email: string) => {
    await page.goto(home())
    await page.getByLabel('E-mail').fill(email)
    await page.getByRole('button', { name: 'Send me a sign-in link' }).click()
    await page.getByRole('status').getByText(`If ${email} may sign in here`).waitFor()
  }

  const readStorage = (page: Page) =>
    page.evaluate('[Object.values(sessionStorage), {...localStorage}, document.cookie]')

  /** Ends all sessions of a user, and waits until requests of a page are refused. */
  const endSessions = async (userId: number, page: Page) => {
    const cookies = await page.context().cookies()
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    const headers = { cookie, 'sec-fetch-site': 'same-origin' }
    const retrieveMe = () => world.tenant.client.request('GET', '/me', { token: '', headers })
    expect((await retrieveMe()).status).toBe(200)
    await world.tenant.send('DELETE', `/manage/users/${userId}/sessions`)
    await eventually(async () => expect((await retrieveMe()).status).toBe(401))
  }

  test('a person asks for a link by e-mail, opens it in the same browser, works under their name, and signs out', async () => {
    const email = newEmail('grace')
    const { id } = await newUser('sales', 'Grace Hopper')
    const { reference } = await world.tenant.createLead()
    await world.page.goto(home())
    await heading('Sign in').waitFor()
    await world.inspect('sign-in-page')
    await label('E-mail').fill(email)
    await button('Send me a sign-in link').click()
    await said(
      `If ${email} may sign in here, an e-mail with a link is on its way. Open it in this browser within 15 minutes.`,
    ).waitFor()
    await button('Send again').waitFor()
    await world.inspect('sign-in-link-sent')
    const { url } = await awaitMail('sign_in', email)

    const first = world.page
    world.page = await first.context().newPage()
    await world.page.goto(url)
    await main().getByText('You opened a sign-in link. Each link works once.').waitFor()
    await main()
      .getByText(/^It signs you in to Spec as /)
      .waitFor()
    expect(world.page.url()).toBe(home())
    await world.inspect('sign-in-link')
    expect(await countSessions(id)).toBe(0)
    await button('Sign in').click()
    await heading('Home').waitFor()
    await nameOf(world.page, 'Grace Hopper').waitFor()
    await nameOf(first, 'Grace Hopper').waitFor()
    expect(await readStorage(world.page)).toEqual([[], { 'leadwire.has-session': 'yes' }, ''])

    await link('Leads').click()
    await link('Ada Lovelace Bay window').click()
    await button('Edit value').click()
    await label('Value in pounds').fill('4500')
    await button('Save').click()
    await changed('Value: £0 → £4,500').getByText('Grace Hopper').waitFor()
    expect(await get(`/leads/${reference}`)).toMatchObject({ value: 4500 })
    await link('Grace Hopper').click()
    await heading('Your sessions').waitFor()
    await row('This browser').waitFor()
    await main().getByText(email).waitFor()
    await world.inspect('my-sessions')

    world.expected = [UNAUTHORIZED]
    await world.page.getByRole('button', { name: 'Sign out' }).click()
    await heading('Sign in').waitFor()
    expect(await countSessions(id)).toBe(0)
    expect(await readStorage(world.page)).toEqual([[], {}, ''])
    // The page finds out at once that the link was used.
    await world.page.goto(url)
    await main().getByRole('alert').getByText(LINK_USED).waitFor()
    await world.inspect('sign-in-link-used')
    await button('Send me a sign-in link').waitFor()
    expect(await countSessions(id)).toBe(0)
  })

  test('a link that is opened in another browser says so, and still works in the browser that asked', async () => {
    world.expected = [FORBIDDEN]
    const email = newEmail('grace')
    await newUser('viewer', 'Grace Hopper')
    await requestLink(world.page, email)
    const { url } = await awaitMail('sign_in', email)
    const other = await openOtherBrowser()
    await openLink(other, url)
    await other
      .getByRole('alert')
      .getByText('Open the link in the browser in which you asked for it, or ask for a new one here.')
      .waitFor()
    await other.getByRole('button', { name: 'Send me a sign-in link' }).waitFor()
    await openLink(world.page, url)
    await nameOf(world.page, 'Grace Hopper').waitFor()
  })

  test('an admin invites a user, who has only the pages of the role, and ends the sessions of the user', async () => {
    world.expected = [UNAUTHORIZED, INVALID]
    const email = newEmail('sam')
    const admin = await newUser('admin', 'Ada Admin')
    await world.tenant.createLead()
    await openAs(admin.id, '/users')
    await button('New user').click()
    await label('Name').fill('Sam Bay')
    await label('E-mail').fill(email)
    await label('Role').selectOption('Sales')
    await world.inspect('new-user-with-role')
    await yes('Create')
    await said(`Created. An invitation was sent to ${email}.`).waitFor()
    await row(email).getByRole('cell', { name: 'Sales', exact: true }).waitFor()
    await world.inspect('users-with-roles')

    const { url } = await awaitMail('invitation', email)
    const invited = await openOtherBrowser()
    await openLink(invited, url)
    await headingOf(invited, 'Home').waitFor()
    await nameOf(invited, 'Sam Bay').waitFor()
    expect(await invited.getByRole('navigation', { name: 'Console' }).innerText()).toBe('Sales\nHome\nLeads')
    await invited.goto(`${home()}/users`)
    await headingOf(invited, 'Forbidden').waitFor()
    await invited.getByText('Your role does not allow this page. An admin can change your role.').waitFor()
    await invited.getByRole('link', { name: 'Go to the start page' }).click()
    await headingOf(invited, 'Home').waitFor()

    await row(email).getByRole('button', { name: 'End sessions' }).click()
    await yes('End sessions')
    await said('All sessions of Sam Bay have ended.').waitFor()
    await again(invited).waitFor()
    expect(await readStorage(invited)).toEqual([[], {}, ''])

    await row(email).getByRole('button', { name: 'Send invitation' }).click()
    await said(`An invitation was sent to ${email}.`).waitFor()
    await openLink(invited, (await awaitMail('invitation', email, 2)).url)
    await nameOf(invited, 'Sam Bay').waitFor()

    await row(admin.email).getByRole('button', { name: 'Remove' }).click()
    await yes('Remove')
    const LAST_ADMIN = 'The user is the only admin of the account. Make another user an admin first.'
    await dialog().getByRole('alert').getByText(LAST_ADMIN).waitFor()
    await yes('Cancel')
    await row(admin.email).getByRole('button', { name: 'Edit' }).click()
    await label('Role').selectOption('No sign-in')
    await yes('Save')
    await dialog().getByRole('alert').getByText(LAST_ADMIN).waitFor()
    expect(await get(`/manage/users/${admin.id}`)).toMatchObject({ role: 'admin', removed_at: null })
  })

  test('when a session ends in the middle of an edit, the page keeps what was typed until the person has signed in again', async () => {
    world.expected = [UNAUTHORIZED]
    const { id, email } = await newUser('sales', 'Grace Hopper')
    const { reference } = await world.tenant.createLead()
    const awaited = new Set()
    world.page.on('request', (request) => awaited.add(request))
    world.page.on('requestfinished', (request) => awaited.delete(request))
    world.page.on('requestfailed', (request) => awaited.delete(request))
    await world.page.clock.install()
    await openAs(id, `/leads/${reference}`)
    await button('Edit value').click()
    await label('Value in pounds').fill('4500')
    // Stops the polls of the page, so that the submission is the first request after the end of the session.
    await world.page.clock.pauseAt(Date.now() + 10_000)
    await eventually(() => expect(awaited.size).toBe(0))
    await endSessions(id, world.page)
    const [refused] = await Promise.all([
      world.page.waitForResponse((response) => response.request().method() === 'PATCH'),
      button('Save').click(),
    ])
    expect(refused.status()).toBe(401)
    await world.page.clock.resume()
    await again(world.page).waitFor()
    await dialog().getByText('Your session has ended. This page keeps what you typed.').waitFor()
    await world.inspect('session-ended')

    await yes('Close')
    await dialog().waitFor({ state: 'hidden' })
    await button('Save').click()
    await again(world.page).waitFor()
    await dialog().getByLabel('E-mail').fill(email)
    await yes('Send me a sign-in link')
    await dialog().getByRole('status').getByText(`If ${email} may sign in here`).waitFor()
    const second = await world.page.context().newPage()
    await openLink(second, (await awaitMail('sign_in', email)).url)
    await nameOf(second, 'Grace Hopper').waitFor()
    await dialog().waitFor({ state: 'hidden' })
    expect(await label('Value in pounds').inputValue()).toBe('4500')
    expect(await get(`/leads/${reference}`)).toMatchObject({ value: 0 })
    await button('Save').click()
    await changed('Value: £0 → £4,500').getByText('Grace Hopper').waitFor()
    expect(await get(`/leads/${reference}`)).toMatchObject({ value: 4500 })
  })

  test('the end of a session keeps an open dialog, and another person who signs in does not see its input', async () => {
    world.expected = [UNAUTHORIZED]
    const { id } = await newUser('admin', 'Ada Admin')
    const other = await newUser('admin', 'Kim Other')
    await openAs(id, '/users')
    await button('New user').click()
    await label('Name').fill('Sam Bay')
    await endSessions(id, world.page)
    await again(world.page).waitFor()
    const openHere = async (userId: number) => {
      const second = await world.page.context().newPage()
      await openLink(second, `${home()}#sign-in=${await world.tenant.newSignInLink(userId)}`)
      return second
    }
    await openHere(id)
    await again(world.page).waitFor({ state: 'hidden' })
    expect(await label('Name').inputValue()).toBe('Sam Bay')
    await label('E-mail').fill(newEmail('sam'))
    await yes('Create')
    await said('Created.').waitFor()

    await button('New user').click()
    await label('Name').fill('Secret plan')
    await endSessions(id, world.page)
    await again(world.page).waitFor()
    await openHere(other.id)
    await nameOf(world.page, 'Kim Other').waitFor()
    await button('New user').click()
    expect(await label('Name').inputValue()).toBe('')
  })

  test('a person signs out in all tabs at once, and ends a session in another browser', async () => {
    world.expected = [UNAUTHORIZED]
    const { id } = await newUser('viewer', 'Grace Hopper')
    const first = world.page
    await openAs(id)
    const second = await first.context().newPage()
    await second.goto(`${home()}/leads`)
    await headingOf(second, 'Leads').waitFor()
    const third = await first.context().newPage()
    world.page = third
    await third.goto(`${home()}/leads`)
    await headingOf(third, 'Leads').waitFor()
    await third.getByRole('button', { name: 'Sign out' }).click()
    await heading('Sign in').waitFor()
    for (const page of [first, second]) {
      await page.getByRole('alert').getByText('You signed out in another tab.').waitFor()
      await headingOf(page, 'Sign in').waitFor()
    }

    const other = await openOtherBrowser()
    await openLink(other, `${home()}#sign-in=${await world.tenant.newSignInLink(id)}`)
    await nameOf(other, 'Grace Hopper').waitFor()
    await openAs(id, '/me')
    // The earlier tabs sign in with this tab.
    for (const page of [first, second]) await nameOf(page, 'Grace Hopper').waitFor()
    await row('This browser').waitFor()
    const sessions = main()
      .getByRole('row')
      .filter({ has: world.page.getByRole('button') })
    expect(await sessions.count()).toBe(2)
    await sessions.filter({ hasNotText: 'This browser' }).getByRole('button', { name: 'End' }).click()
    await said('The session has ended.').waitFor()
    await again(other).waitFor()
    await row('This browser').getByRole('button', { name: 'End' }).click()
    await heading('Sign in').waitFor()
    expect(await countSessions(id)).toBe(0)
  })
})
