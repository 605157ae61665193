using System;
using System.Collections.Generic;

namespace Shop
{
    // Cart holds what is to be bought.
    public class Cart
    {
        private readonly List<Item> items = new List<Item>();
        private decimal rate   = 0.19m;

        public void Add(Item item)
        {
            if (item == null)
            {
                throw new ArgumentNullException("item");
            }
            items.Add(item);
        }

        public decimal Total()
        {
            decimal sum = 0;
            foreach (var item in items)
            {
                sum += item.Price * item.Count;
            }
            return sum * (1 + rate);
        }

        public void Clear()
        {
            items.Clear();
        }
    }
}
