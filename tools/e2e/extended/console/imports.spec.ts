import { describeConsole, findParts } from '../../support/console'
import { createImports, renderCsv } from '../../support/imports'
import { joinStage, LEAD } from '../../support/stage'

describeConsole('imports in the console', joinStage, (world) => {
  const { heading, open } = world
  const { main, button } = findParts(world)
  const failedRow = (number: number) => main().getByRole('listitem', { name: `Row ${number}`, exact: true })

  test('rows of CSV are corrected in place, whatever their columns are called', async () => {
    const { run, leads } = createImports(world.tenant)
    const csv = renderCsv(['Bay window', 'Door', 'Roof']).replace('email', 'Customer E-Mail').split('\n')
    csv[1] = csv[1]!.replace('ada@example.com', 'ada@')
    csv[2] = csv[2]!.replace('SW1A 1AA', 'nowhere').replace('open', 'won')
    csv[3] = `${csv[3]!},too many`
    const { id } = await run(csv.join('\n'), { query: '?webhooks=true&file_name=leads%20of%20June.csv' })
    await open(`/imports/${id}`)
    await heading(`Import ${id} Finished`).waitFor()
    await main().getByText('leads of June.csv', { exact: true }).waitFor()
    expect(await button('Import 1 corrected row').count()).toBe(0)
    // The first invalid field has the focus, so that the user can type at once.
    expect(await world.page.evaluate('document.activeElement.name')).toBe('row-1-Customer E-Mail')
    await failedRow(1).getByLabel('Customer E-Mail', { exact: true }).fill('ada@example.com')
    await button('Import 1 corrected row').waitFor()
    await failedRow(2).getByLabel('postcode', { exact: true }).fill('M1 1AE')
    await failedRow(2).getByLabel('status', { exact: true }).fill('sold')
    await failedRow(3).getByText('The row has').waitFor()
    await failedRow(3)
      .getByLabel(/^column \d+$/)
      .fill('')
    await failedRow(3).getByLabel('name', { exact: true }).fill('Loft')
    await world.inspect('import-corrections')
    await button('Import 3 corrected rows').click()
    await main().getByText('Corrected rows of leads of June.csv').waitFor()
    await heading(/^Import \d+ Finished$/).waitFor()
    const imported = await leads()
    expect(imported.map(({ name }) => name)).toEqual(['Bay window', 'Door', 'Loft'])
    expect(imported[1]).toMatchObject({ status: 'sold', postcode: 'M1 1AE' })
    expect(await world.tenant.send<object[]>('GET', '/manage/imports')).toMatchObject([
      { rows_created: 3, rows_failed: 0, webhooks: true },
      { id, rows_created: 0, rows_failed: 3 },
    ])

    // The same corrections again, as after a lost response, return the first import.
    await world.page.goto(`${world.stage.system.baseUrl}/console/imports/${id}`)
    await failedRow(1).getByLabel('Customer E-Mail', { exact: true }).fill('ada@example.com')
    await failedRow(2).getByLabel('postcode', { exact: true }).fill('M1 1AE')
    await failedRow(2).getByLabel('status', { exact: true }).fill('sold')
    await failedRow(3)
      .getByLabel(/^column \d+$/)
      .fill('')
    await failedRow(3).getByLabel('name', { exact: true }).fill('Loft')
    await button('Import 3 corrected rows').click()
    await main().getByText('Corrected rows of leads of June.csv').waitFor()
    expect(await leads()).toHaveLength(3)
  })

  test('rows of NDJSON are corrected, also in the customer of an exported lead, and lack values if malformed', async () => {
    const { run, leads } = createImports(world.tenant)
    const { email: _, ...rest } = LEAD
    const exported = { ...rest, name: 'Exported', customer: { email: 'ada@', phone: '020 7946 0123' } }
    const lines = [JSON.stringify(exported), '{"name":']
    const { id } = await run(`${lines.join('\n')}\n`, { type: 'application/x-ndjson' })
    await open(`/imports/${id}`)
    const email = failedRow(1).getByLabel('email', { exact: true })
    expect(await email.inputValue()).toBe('ada@')
    await failedRow(2).getByText('The values of this row cannot be shown.').waitFor()
    await email.fill('ada@example.com')
    await button('Import 1 corrected row').click()
    await main().getByText(`Corrected rows of import ${id}`).waitFor()
    await heading(/^Import \d+ Finished$/).waitFor()
    expect(await leads()).toMatchObject([{ name: 'Exported' }])
  })

  test('a viewer sees the values of failed rows, and cannot change them', async () => {
    const { run } = createImports(world.tenant)
    const { id } = await run(renderCsv(['Bay window']).replace('ada@example.com', 'ada@'))
    const { id: viewer } = await world.tenant.newUser('viewer')
    await world.openAs(viewer, `/imports/${id}`)
    await failedRow(1).getByText('ada@', { exact: true }).waitFor()
    expect(await main().getByRole('textbox').count()).toBe(0)
    await world.inspect('import-of-a-viewer')
  })
})
