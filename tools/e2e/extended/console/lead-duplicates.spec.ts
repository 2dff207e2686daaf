import { eventually } from '@leadwire/test-kit'
import { describeConsole } from '../../support/console'
import { joinStage } from '../../support/stage'

const start = () => joinStage({ env: { DUPLICATE_WINDOW: '90d' } })
describeConsole('duplicates of a lead in the console', start, (world) => {
  const { heading, open } = world
  const main = () => world.page.getByRole('main')
  const row = (text: string) => main().getByRole('row').filter({ hasText: text })
  const button = (name: string) => main().getByRole('button', { name, exact: true })
  const retrieve = (reference: string) => world.tenant.send('GET', `/manage/leads/${reference}`)
  const section = () => main().getByRole('heading', { name: 'Duplicates', exact: true })

  /** Creates two leads of one person, and a lead of another person with the same telephone number. */
  const createLeads = async () => {
    const { createLead, send } = world.tenant
    const first = await createLead({ name: 'Porch' })
    const other = await createLead({
      name: 'Roof',
      first_name: 'Grace',
      email: 'grace@example.com',
    })
    const { reference } = await createLead()
    await eventually(async () =>
      expect(await send<object[]>('GET', `/manage/leads/${reference}/duplicates`)).toHaveLength(2),
    )
    return { first: first.reference, other: other.reference, reference }
  }

  test('suspects are listed with the matching fields, and one of them is marked and unmarked', async () => {
    const { first, reference } = await createLeads()
    await open(`/leads/${reference}`)
    await row('Porch').waitFor()
    expect(await row('Porch').innerText()).toMatch(/^Porch.*e-mail, phone, name and postcode/s)
    expect(await row('Roof').innerText()).toMatch(/^Roof.*\tphone\t/s)
    await world.inspect('lead-with-suspects')
    await row('Porch').getByRole('button', { name: 'Mark as duplicate of this' }).click()
    await heading('Bay window Duplicate').waitFor()
    await main().getByText('Duplicate of Porch').waitFor()
    expect(await row('Porch').first().getByRole('button').count()).toBe(0)
    expect(await retrieve(reference)).toMatchObject({ status: 'duplicate', duplicate_of: first })
    await row('Status: Open → Duplicate').waitFor()
    await world.inspect('lead-that-is-a-duplicate')
    await button('Not a duplicate').click()
    await heading('Bay window Open').waitFor()
    expect(await retrieve(reference)).toMatchObject({ status: 'open', duplicate_of: null })
    await main().getByRole('link', { name: 'Porch', exact: true }).click()
    await heading('Porch Open').waitFor()
  })

  test('a duplicate cannot be selected as the original, and the message names its original', async () => {
    world.expected = [/422 \(Unprocessable/]
    const { first, other, reference } = await createLeads()
    await world.tenant.send('POST', `/manage/leads/${first}/duplicate-of`, { json: { reference: other } })
    await open(`/leads/${reference}`)
    await row('Porch').getByRole('button', { name: 'Mark as duplicate of this' }).click()
    await world.page
      .getByText(`The selected lead is itself a duplicate of ${other}. Select that lead instead.`)
      .waitFor()
  })

  test('a lead without suspects shows none, and a token that may only read gets no button', async () => {
    const { reference } = await createLeads()
    const reader = await world.tenant.newToken({ scopes: ['leads:read', 'manage:read'] })
    const { reference: stranger } = await world.tenant.createLead({
      name: 'Door',
      first_name: 'Sam',
      email: 'sam@example.com',
      phone: '020 7946 0999',
    })
    await open(`/leads/${stranger}`)
    await section().waitFor()
    expect(await section().locator('xpath=following-sibling::*[1]').innerText()).toBe('None')
    await world.newTab()
    await open(`/leads/${reference}`, reader.token)
    await row('Porch').waitFor()
    expect(await button('Mark as duplicate of this').count()).toBe(0)
  })
})
