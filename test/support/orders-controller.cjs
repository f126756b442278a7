/** A controller of NestJS in a CommonJS module, as `nest build` writes them; `NotFoundException` is of the version under test. */
exports.ordersController = function ordersController({ NotFoundException }) {
  class Orders {
    /** Its subclass is the controller. */
    async find(id) {
      if (id === '7') throw new NotFoundException('No order 7');
      if (id === '8') throw new TypeError('no price');
      return `order ${id}`;
    }
  }
  return class OrdersController extends Orders {};
};
