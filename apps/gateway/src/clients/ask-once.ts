/** Sends items with the same key as one, with the last of their deadlines. Only for calls that change nothing. */
export const askOnce =
  <Item, Result>(
    keyOf: (item: Item) => string,
    send: (items: Item[], deadlines: number[]) => Promise<Result[]>,
  ) =>
  async (items: Item[], deadlines: number[]): Promise<Result[]> => {
    const unique = new Map<string, { item: Item; deadline: number; place: number }>()
    const places = items.map((item, index) => {
      const [key, deadline] = [keyOf(item), deadlines[index]!]
      const same = unique.get(key)
      if (same) same.deadline = Math.max(same.deadline, deadline)
      else unique.set(key, { item, deadline, place: unique.size })
      return same?.place ?? unique.size - 1
    })
    const sent = [...unique.values()]
    const results = await send(
      sent.map(({ item }) => item),
      sent.map(({ deadline }) => deadline),
    )
    return places.map((place) => results[place]!)
  }
