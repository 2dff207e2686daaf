/** The `page` of a query: what is no integer from 1 to 2^53 - 1 is page 1 (a repeated one too). */
export const pageNumber = (page: unknown): number => {
  if (typeof page !== 'string' || !/^[1-9]\d{0,15}$/.test(page)) return 1
  const number = Number(page)
  return Number.isSafeInteger(number) ? number : 1
}
