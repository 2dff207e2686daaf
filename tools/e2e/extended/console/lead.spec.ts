import { eventually } from '@leadwire/test-kit'
import { describeConsole, findParts } from '../../support/console'
import { joinStage, LEAD } from '../../support/stage'

const USER = { name: 'Sam Bay', email: 'sam@example.com' }

// The browser logs each response with one of these statuses as an error.
const INVALID = /422 \(Unprocessable/
const CONFLICT = /412 \(Precondition/

const WHEN = 'Date and time in the United Kingdom'

const start = () => joinStage({ env: { DUPLICATE_WINDOW: '90d' } })
describeConsole('a lead in the console', start, (world) => {
  const { heading, open } = world
  const { main, dialog, button, link, label, row, said, yes, download } = findParts(world)
  const get = <T = Record<string, unknown>>(path: string) => world.tenant.send<T>('GET', path)
  const list = <T = Record<string, unknown>>(path: string) => get<T[]>(path)
  const newUser = (change = {}) =>
    world.tenant.send<{ id: number }>('POST', '/manage/users', { json: { ...USER, ...change } })
  const item = (text: string | RegExp) => main().getByRole('listitem').filter({ hasText: text })
  const within = (text: string, name: string) => item(text).getByRole('button', { name, exact: true })
  const edit = (what: string) => button(`Edit ${what}`).click()

  describe('fields', () => {
    test('are edited in place, Escape changes nothing, and errors are at the field', async () => {
      world.expected = [INVALID]
      const { reference } = await world.tenant.createLead()
      const stored = () => get(`/manage/leads/${reference}`)
      await open(`/leads/${reference}`)
      await heading('Ada Lovelace: Bay window Open').waitFor()
      await edit('value')
      await label('Value in pounds').fill('£4,500')
      await button('Save').click()
      await main().getByText('The value must be an integer.').waitFor()
      await world.inspect('lead-edit')
      await label('Value in pounds').fill('4500')
      await label('Value in pounds').press('Enter')
      await main().getByText('£4,500', { exact: true }).waitFor()

      await edit('telephone')
      await label('Telephone').fill('020 7946 0999')
      await label('Telephone').press('Escape')
      await label('Telephone').waitFor({ state: 'detached' })
      expect(await world.page.evaluate('document.activeElement.ariaLabel')).toBe('Edit telephone')
      expect(await link('020 7946 0123').getAttribute('href')).toBe('tel:+442079460123')

      await edit('customer')
      await label('Last name').fill('King')
      await label('Company').fill('Engines Ltd')
      await button('Save').click()
      await heading('Ada King: Bay window Open').waitFor()
      await item('Company name changed').first().waitFor()
      await edit('customer')
      await label('Company').fill('')
      await button('Save').click()
      await main().getByText('Ada King', { exact: true }).waitFor()
      await edit('description')
      await label('Description').fill('After six')
      await button('Save').click()
      await main().getByText('After six').waitFor()
      expect(await stored()).toMatchObject({
        value: 4500,
        description: 'After six',
        customer: { last_name: 'King', company_name: null, phone: '020 7946 0123' },
      })
    })

    test('keep what was typed if others have changed the lead, and show what they have changed', async () => {
      world.expected = [CONFLICT]
      const { reference } = await world.tenant.createLead()
      const change = (json: object) => world.tenant.send('PATCH', `/manage/leads/${reference}`, { json })
      await open(`/leads/${reference}`)
      await edit('telephone')
      await label('Telephone').fill('020 7946 0999')
      await change({ status: 'sold', mobile: '07700 900123' })
      await heading('Bay window Sold').waitFor()
      await button('Save').click()
      const conflict = main().getByRole('alert')
      await conflict.getByText('Status: Open → Sold').waitFor()
      await conflict.getByText('Mobile: none → 07700 900123').waitFor()
      expect(await label('Telephone').inputValue()).toBe('020 7946 0999')
      await world.inspect('lead-conflict')
      expect(await get(`/leads/${reference}`)).toMatchObject({ customer: { phone: '020 7946 0123' } })
      await button('Save anyway').click()
      await link('020 7946 0999').waitFor()
      expect(await get(`/leads/${reference}`)).toMatchObject({
        status: 'sold',
        customer: { phone: '020 7946 0999', mobile: '07700 900123' },
      })
    })

    test('of two open editors do not conflict with each other', async () => {
      const { reference } = await world.tenant.createLead()
      await open(`/leads/${reference}`)
      await edit('job')
      await edit('status')
      await label('Status').selectOption('Lost')
      await main().getByRole('form', { name: 'Edit status' }).getByRole('button', { name: 'Save' }).click()
      await heading('Bay window Lost').waitFor()
      await label('Job').fill('Porch')
      await button('Save').click()
      await heading('Ada Lovelace: Porch Lost').waitFor()
    })

    test('the owner is changed, notified and removed', async () => {
      await newUser()
      const { reference } = await world.tenant.createLead()
      await open(`/leads/${reference}`)
      await edit('owner')
      await label('Owner').selectOption('Sam Bay')
      await label('Notify the owner by e-mail').check()
      await button('Save').click()
      await item('Owner: none → Sam Bay').first().waitFor()
      await main().getByText('Sam Bay', { exact: true }).filter({ visible: true }).waitFor()
      await eventually(async () =>
        expect(await list(`/manage/notifications?lead_reference=${reference}`)).toHaveLength(1),
      )
      await edit('owner')
      await label('Owner').selectOption('Unassigned')
      await button('Save').click()
      await item('Owner: Sam Bay → none').first().waitFor()
      expect(await get(`/manage/leads/${reference}`)).toMatchObject({ user: null })
    })
  })

  describe('timeline', () => {
    test('a note is added, edited and deleted by its author, and by no other user', async () => {
      world.expected = [INVALID]
      const { id } = await world.tenant.newUser('sales', { name: 'Grace Hopper' })
      const { reference } = await world.tenant.createLead()
      const notes = () => list(`/manage/leads/${reference}/notes`)
      await world.tenant.send('POST', `/manage/leads/${reference}/notes`, { json: { text: 'From the CRM' } })
      await world.openAs(id, `/leads/${reference}`)
      await button('Add note').click()
      await main().getByRole('alert').waitFor()
      await label('New note').fill('Called back.\nWants oak.')
      await label('New note').press('Control+Enter')
      await item('Note by Grace Hopper').getByText('Wants oak.').waitFor()
      expect(await label('New note').inputValue()).toBe('')
      expect(await within('From the CRM', 'Edit').count()).toBe(0)

      await within('Wants oak.', 'Edit').click()
      await label('Text of the note').fill('Wants ash.')
      await world.inspect('lead-note')
      await button('Save').click()
      await item('Note by Grace Hopper, edited').getByText('Wants ash.').waitFor()
      expect(await notes()).toMatchObject([{ text: 'Wants ash.' }, { text: 'From the CRM' }])
      await within('Wants ash.', 'Delete').click()
      await yes('Delete')
      await item('Wants ash.').waitFor({ state: 'detached' })
      expect(await notes()).toMatchObject([{ text: 'From the CRM' }])
    })

    test('a note whose response was lost is added only once', async () => {
      world.expected = [/ERR_FAILED/]
      const { reference } = await world.tenant.createLead()
      await open(`/leads/${reference}`)
      await label('New note').fill('Called back.')
      await world.page.route('**/notes', async (route) => {
        await route.fetch()
        await route.abort()
      })
      await button('Add note').click()
      await main().getByText('The API could not be reached.').first().waitFor()
      await world.page.unroute('**/notes')
      await button('Add note').click()
      await item('Called back.').waitFor()
      await eventually(async () => expect(await label('New note').inputValue()).toBe(''))
      expect(await list(`/manage/leads/${reference}/notes`)).toHaveLength(1)
    })

    test('older entries of each kind are loaded on demand, and no page twice', async () => {
      const { reference } = await world.tenant.createLead()
      for (let number = 1; number <= 130; number += 1)
        await world.tenant.send('POST', `/manage/leads/${reference}/notes`, {
          json: { text: `Call ${number}.` },
        })
      const cursors: string[] = []
      world.page.on('request', (request) => {
        const url = new URL(request.url())
        if (url.pathname.endsWith('/notes') && url.searchParams.has('cursor')) cursors.push(url.search)
      })
      await open(`/leads/${reference}`)
      await item('Call 130.').waitFor()
      expect(await item('Call 100.').count()).toBe(0)
      const showUntil = (text: string): Promise<void> =>
        eventually(async () => {
          if ((await item(text).count()) > 0) return
          await button('Show older').click()
          expect(await item(text).count()).toBe(1)
        })
      await showUntil('Call 31.')
      expect(cursors).toEqual([])
      // The creation of the lead is older than all notes. It is shown when no note is missing before it.
      expect(await item('Lead created by').count()).toBe(0)
      await showUntil('Call 1.')
      await showUntil('Lead created by')
      expect(cursors).toHaveLength(1)
      await label('Show').selectOption('Changes')
      await item('Call 130.').waitFor({ state: 'detached' })
      await item('Lead created by').waitFor()
    })

    test('shows files and deliveries, and technical details are in a tab', async () => {
      world.expected = [INVALID]
      const { receiver } = await world.tenant.listen({ description: 'CRM' })
      const lead = {
        ...LEAD,
        mobile: '07700 900123',
        description: 'After six',
        quotes: [{ status: 'draft' }],
        attributes: { utm_campaign: 'spring', landing_page: '/bay-windows' },
      }
      const { reference } = await world.tenant.send('POST', '/manage/leads', { json: lead })
      await eventually(() => expect(receiver.requests).toHaveLength(1))
      await open(`/leads/${reference}`)
      await main()
        .getByRole('heading', { name: /^Quote \d+, draft$/ })
        .waitFor()
      await item('Lead created → CRM').waitFor()
      await main().getByText('spring', { exact: true }).waitFor()
      await main().getByText('/bay-windows', { exact: true }).waitFor()

      await button('Add a file').click()
      await label('Name').fill('Survey')
      await label('File').setInputFiles({
        name: 'a.pdf',
        mimeType: 'text/plain',
        buffer: Buffer.from('none'),
      })
      await yes('Upload')
      await dialog().getByRole('alert').waitFor()
      await label('File').setInputFiles({
        name: 'a.txt',
        mimeType: 'text/plain',
        buffer: Buffer.from('Bay 3'),
      })
      await yes('Upload')
      await item('File added').getByText('Survey').waitFor()
      expect(await download('Download a.txt')).toEqual({ name: 'a.txt', text: 'Bay 3' })
      await world.inspect('lead')
      const { name, text } = await download('Export')
      expect(name).toBe(`lead-${reference}.json`)
      expect(JSON.parse(text)).toMatchObject({ lead: { reference, user: null }, complete: true })

      await world.page.getByRole('tab', { name: 'Timeline' }).press('ArrowRight')
      await row('Lead created').waitFor()
      await main().getByText('"utm_campaign": "spring"').waitFor()
      await world.inspect('lead-technical')
      await link('All deliveries').click()
      await heading('Deliveries').waitFor()
      await row('Bay window').getByRole('link', { name: 'Bay window' }).click()
      await heading('Bay window Open').waitFor()
    })

    test('without https a file can be attached, and no copy button is shown', async () => {
      // Removes the functions that Chromium omits on pages without https. Chromium offers them here, because
      // the page is on loopback.
      await world.page.addInitScript(
        `delete Crypto.prototype.randomUUID; Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })`,
      )
      const { reference } = await world.tenant.createLead({ email: 'ada?bcc=eve@example.com' })
      await open(`/leads/${reference}`)
      await button('Add a file').click()
      await label('Name').fill('Survey')
      await label('File').setInputFiles({
        name: 'a.txt',
        mimeType: 'text/plain',
        buffer: Buffer.from('Bay 3'),
      })
      await yes('Upload')
      await item('File added').waitFor()
      await world.page.getByRole('tab', { name: 'Technical details' }).click()
      await main().getByText(reference).waitFor()
      expect(await button('Copy').count()).toBe(0)
      expect(await link('ada?bcc=eve@example.com').getAttribute('href')).toBe(
        'mailto:ada%3Fbcc%3Deve@example.com',
      )
    })
  })

  describe('next action', () => {
    for (const kind of ['appointment', 'callback']) {
      const name = kind === 'appointment' ? 'Appointment' : 'Callback'

      test(`${name} is booked, moved and finished, and a past date asks first`, async () => {
        const { id } = await newUser()
        const { reference } = await world.tenant.createLead()
        const entries = () => list(`/leads/${reference}/${kind}s`)
        await open(`/leads/${reference}`)
        await button(kind === 'appointment' ? 'Book an appointment' : 'Book a callback').click()
        await label(WHEN).fill('2020-01-02T09:00')
        await yes('Book')
        await dialog().getByText('This time has passed.').waitFor()
        await world.inspect(`lead-past-${kind}`)
        expect(await entries()).toEqual([])
        await label(WHEN).fill('2099-12-24T14:30')
        await yes('Book')
        await said(`The ${kind} was booked.`).waitFor()
        await item('24 Dec 2099, 14:30').first().waitFor()
        expect(await entries()).toMatchObject([
          { user_id: id, notify: true, date: '2099-12-24T14:30:00.000000Z' },
        ])

        await button('Move').click()
        expect(await label(WHEN).inputValue()).toBe('2099-12-24T14:30')
        await label(WHEN).fill('2020-01-02T09:00')
        await yes('Move')
        await dialog().getByText('This time has passed.').waitFor()
        await yes('Move anyway')
        await said(`The ${kind} was moved.`).waitFor()
        await item('2 Jan 2020, 09:00').getByText('Overdue').waitFor()
        expect(await entries()).toMatchObject([{ date: '2020-01-02T09:00:00.000000Z' }])
        await world.inspect(`lead-overdue-${kind}`)

        await button('Done').click()
        await said(`The ${kind} is done.`).waitFor()
        await main().getByText('No appointment and no callback').waitFor()
        await item(`${name} booked`).getByText('Done').waitFor()
        expect(await entries()).toMatchObject([{ done_at: expect.any(String) }])
        expect(await world.page.evaluate('document.documentElement.scrollWidth')).toBe(1280)
      })
    }

    test('a callback is cancelled', async () => {
      await newUser()
      const { reference } = await world.tenant.createLead()
      await open(`/leads/${reference}`)
      await button('Book a callback').click()
      await label(WHEN).fill('2099-12-24T14:30')
      await yes('Book')
      await dialog().waitFor({ state: 'hidden' })
      await within('24 Dec 2099, 14:30', 'Cancel').click()
      await yes('Cancel the callback')
      await said('The callback was cancelled.').waitFor()
      await item('Callback booked').getByText('Cancelled').waitFor()
      expect(await list(`/leads/${reference}/callbacks`)).toMatchObject([
        { cancelled_at: expect.any(String) },
      ])
    })
  })

  describe('duplicates', () => {
    /** Creates two leads of one person, and a lead of another person with the same telephone number. */
    const createLeads = async () => {
      const { createLead, send } = world.tenant
      const first = await createLead({ name: 'Porch' })
      const other = await createLead({ name: 'Roof', first_name: 'Grace', email: 'grace@example.com' })
      const { reference } = await createLead()
      await eventually(async () =>
        expect(await send<object[]>('GET', `/manage/leads/${reference}/duplicates`)).toHaveLength(2),
      )
      return { first: first.reference, other: other.reference, reference }
    }

    test('suspects are shown side by side, and one of them is marked and unmarked', async () => {
      const { first, reference } = await createLeads()
      const stored = () => get(`/manage/leads/${reference}`)
      await open(`/leads/${reference}`)
      await item('Porch').getByText('Same e-mail, telephone, name and postcode').waitFor()
      await item('Roof').getByText('Same telephone', { exact: true }).waitFor()
      expect(await item('Roof').getByRole('row', { name: 'E-mail' }).innerText()).toMatch(
        /ada@example.com\s+grace@example.com/,
      )
      await item('Roof').getByRole('rowheader', { name: 'Telephone (same)' }).waitFor()
      await world.inspect('lead-with-suspects')
      await within('Porch', 'Mark as duplicate of this').click()
      await heading('Bay window Duplicate').waitFor()
      await main().getByText('Duplicate of Porch').waitFor()
      expect(await stored()).toMatchObject({ status: 'duplicate', duplicate_of: first })
      await item('Status: Open → Duplicate').first().waitFor()
      const entry = item('Duplicate of: none → Ada Lovelace: Porch').first()
      const original = entry.getByRole('link', { name: 'Ada Lovelace: Porch', exact: true })
      expect(await original.getAttribute('href')).toBe(`/console/leads/${first}`)
      await world.inspect('lead-that-is-a-duplicate')
      await button('Not a duplicate').click()
      await heading('Bay window Open').waitFor()
      expect(await stored()).toMatchObject({ status: 'open', duplicate_of: null })
      await main().getByRole('link', { name: 'Porch', exact: true }).click()
      await heading('Porch Open').waitFor()
    })

    test('a duplicate cannot be selected as the original, and the message names its original', async () => {
      world.expected = [INVALID]
      const { first, other, reference } = await createLeads()
      await world.tenant.send('POST', `/manage/leads/${first}/duplicate-of`, { json: { reference: other } })
      await open(`/leads/${reference}`)
      await within('Porch', 'Mark as duplicate of this').click()
      await world.page
        .getByText(`The selected lead is itself a duplicate of ${other}. Select that lead instead.`)
        .waitFor()
    })
  })

  describe('a new lead', () => {
    const fill = async (values: Record<string, string>) => {
      for (const [name, value] of Object.entries(values)) await label(name).fill(value)
    }
    const CUSTOMER = {
      'First name': 'Ada',
      'Last name': 'Lovelace',
      'E-mail': 'ada@example.com',
      Telephone: '020 7946 0123',
      Postcode: 'SW1A 1AA',
    }

    test('is created with owner, source and attributes, and errors are at their fields', async () => {
      world.expected = [INVALID]
      const { id } = await newUser()
      await open('/leads/new')
      await label('Postcode').fill('nowhere')
      await button('Add an attribute').click()
      await fill({ 'Name of attribute 1': 'UTM', 'Value of attribute 1': 'spring' })
      await button('Create').click()
      await main().locator('#first_name-error').waitFor()
      await main().locator('#postcode-error').waitFor()
      await main().locator('#attributes-error').waitFor()
      await world.inspect('new-lead')
      await fill({ ...CUSTOMER, Job: 'Bay window', 'Value in pounds': '4500', 'Name of attribute 1': 'utm' })
      await label('Owner').selectOption('Sam Bay')
      await label('Referrer').selectOption('Showroom')
      await button('Create').click()
      await heading('Ada Lovelace: Bay window Open').waitFor()
      const [created] = await list<{ reference: string }>('/leads')
      expect(await get(`/manage/leads/${created!.reference}`)).toMatchObject({
        value: 4500,
        referrer: 'Showroom',
        attributes: { utm: 'spring' },
        user: { id, name: 'Sam Bay' },
        customer: { name: 'Ada Lovelace', company_name: null },
      })
    })

    test('is created once if the response to the first submit is lost', async () => {
      world.expected = [/ERR_FAILED/]
      await open('/leads/new')
      await fill({ ...CUSTOMER, Job: 'Bay window' })
      await world.page.route('**/manage/leads', async (route) => {
        await route.fetch()
        await route.abort()
      })
      await button('Create').click()
      await main().getByText('The API could not be reached.').waitFor()
      await world.page.unroute('**/manage/leads')
      await button('Create').click()
      await heading('Ada Lovelace: Bay window Open').waitFor()
      expect(await list('/leads')).toHaveLength(1)
    })
  })

  test('a lead is erased after a confirmation, and its receipt is shown', async () => {
    await world.tenant.listen({ description: 'CRM', events: ['lead.erased'] })
    await world.tenant.createLead()
    const { reference } = await world.tenant.createLead({ name: 'W'.repeat(255) })
    await eventually(async () => expect(await list(`/manage/leads/${reference}/duplicates`)).toHaveLength(1))
    await open(`/leads/${reference}`)
    await button('Erase').click()
    await dialog().getByText('1 other lead seems to be about the same person.').waitFor()
    const widths = await dialog().evaluate((one) => [
      (one as unknown as { scrollWidth: number }).scrollWidth,
      (one as unknown as { clientWidth: number }).clientWidth,
    ])
    expect(widths[0]).toBe(widths[1])
    await dialog().getByText("This can't be undone.").waitFor()
    expect(await dialog().innerText()).toContain(
      'the customer: name, company, e-mail, phone numbers, address',
    )
    await world.inspect('erase')
    await yes('Erase permanently')
    await main().getByRole('heading', { name: 'Erasure Done' }).waitFor()
    await row('attached files').waitFor()
    expect(await main().innerText()).not.toContain('Ada')
    await main().getByText('The personal data of this lead was erased').waitFor()
    expect(await button('Add note').count()).toBe(0)
    expect(await get(`/manage/leads/${reference}/erasure`)).toMatchObject({ status: 'done' })
    await main().getByText('CRM: Delivered').waitFor()
    await world.inspect('erased')
    const { name, text } = await download('Download receipt')
    expect(name).toBe(`erasure-${reference}.json`)
    expect(JSON.parse(text)).toMatchObject({ lead_reference: reference, status: 'done' })
  })

  test('a user who may only read sees why nothing can be changed', async () => {
    const { id } = await world.tenant.newUser('viewer', { name: 'Grace Hopper' })
    const { reference } = await world.tenant.createLead()
    await world.openAs(id, `/leads/${reference}`)
    await heading('Bay window Open').waitFor()
    await main().getByText("Your role can't change leads.").waitFor()
    expect(await main().getByRole('button').allInnerTexts()).toEqual(['Export'])
    await world.inspect('lead-of-a-viewer')
  })

  test('a poll repeats no request whose response cannot have changed', async () => {
    const { reference } = await world.tenant.createLead()
    await world.page.clock.install()
    await open(`/leads/${reference}`)
    await heading('Bay window Open').waitFor()
    const requested: string[] = []
    world.page.on('request', (request) => requested.push(new URL(request.url()).pathname))
    await world.page.clock.runFor(5_000)
    await eventually(() => expect(requested).toContain(`/manage/leads/${reference}`))
    await eventually(() => expect(requested).toContain(`/manage/leads/${reference}/notes`))
    const unneeded = ['/history', '/duplicates', '/users', '/webhook-endpoints']
    expect(requested.filter((path) => unneeded.some((end) => path.endsWith(end)))).toEqual([])
  })
})
