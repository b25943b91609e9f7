var MyBB = { init: function () {} };
